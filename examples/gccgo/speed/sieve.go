// A goroutine for each prime. Each drops the multiples of its prime.
package main

import (
	"fmt"
	"time"
)

func main() {
	const primes = 1000
	ch := make(chan int)
	go func(numbers chan<- int) {
		for i := 2; ; i++ {
			numbers <- i
		}
	}(ch)
	begin := time.Now()
	last := 0
	for i := 0; i < primes; i++ {
		prime := <-ch
		next := make(chan int)
		go func(from <-chan int, to chan<- int) {
			for {
				if v := <-from; v%prime != 0 {
					to <- v
				}
			}
		}(ch, next)
		ch, last = next, prime
	}
	if last != 7919 {
		panic("wrong")
	}
	fmt.Println(time.Since(begin).Nanoseconds() / primes)
}
