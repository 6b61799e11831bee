package main

import "fmt"

func counter() func() int {
	n := 0
	return func() int { n++; return n }
}

func compose(fs ...func(int) int) func(int) int {
	return func(x int) int {
		for _, f := range fs {
			x = f(x)
		}
		return x
	}
}

func main() {
	a, b := counter(), counter()
	a()
	fmt.Println(a(), b(), a())
	fmt.Println(compose(func(x int) int { return x + 1 }, func(x int) int { return x * 10 })(4))
	results := make(chan int, 10)
	for i := 0; i < 10; i++ {
		i := i
		go func() { results <- i * i }()
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-results
	}
	fmt.Println(sum)
}
