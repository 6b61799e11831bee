package main

import "fmt"

func main() {
	const n = 20000
	first := make(chan int)
	c := first
	for i := 0; i < n; i++ {
		next := make(chan int)
		go func(from, to chan int) { to <- 1 + <-from }(c, next)
		c = next
	}
	go func() { first <- 0 }()
	fmt.Println(<-c)
}
