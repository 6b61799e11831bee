package main

import "fmt"

func generate(to chan<- int) {
	for i := 2; ; i++ {
		to <- i
	}
}

func filter(from <-chan int, to chan<- int, prime int) {
	for {
		if i := <-from; i%prime != 0 {
			to <- i
		}
	}
}

func main() {
	from := make(chan int)
	go generate(from)
	for i := 0; i < 60; i++ {
		prime := <-from
		fmt.Println(prime)
		to := make(chan int)
		go filter(from, to, prime)
		from = to
	}
}
