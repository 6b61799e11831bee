// A tree of goroutines, ten to a node and a hundred thousand leaves, whose numbers are added up.
package main

import (
	"fmt"
	"time"
)

func skynet(sum chan int, number, size int) {
	if size == 1 {
		sum <- number
		return
	}
	of := make(chan int)
	for i := 0; i < 10; i++ {
		go skynet(of, number+i*size/10, size/10)
	}
	total := 0
	for i := 0; i < 10; i++ {
		total += <-of
	}
	sum <- total
}

func main() {
	const size = 100000
	sum := make(chan int)
	begin := time.Now()
	for i := 0; i < 5; i++ {
		go skynet(sum, 0, size)
		if <-sum != size*(size-1)/2 {
			panic("wrong")
		}
	}
	fmt.Println(time.Since(begin).Nanoseconds() / (5 * size))
}
