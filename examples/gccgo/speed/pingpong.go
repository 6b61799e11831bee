// Two goroutines hand a value to and fro over channels without a buffer: a round is two switches.
package main

import (
	"fmt"
	"time"
)

func main() {
	const n = 1000000
	a, b := make(chan int), make(chan int)
	go func() {
		for v := range a {
			b <- v
		}
	}()
	begin := time.Now()
	for i := 0; i < n; i++ {
		a <- i
		<-b
	}
	fmt.Println(time.Since(begin).Nanoseconds() / n)
}
