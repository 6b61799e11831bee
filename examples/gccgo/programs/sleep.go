package main

import (
	"fmt"
	"time"
)

func main() {
	start := time.Now()
	c := make(chan int)
	for _, ms := range []int{30, 10, 20} {
		go func(ms int) {
			time.Sleep(time.Duration(ms) * 10 * time.Millisecond)
			c <- ms
		}(ms)
	}
	fmt.Println(<-c, <-c, <-c)
	took := time.Since(start)
	fmt.Println(took >= 300*time.Millisecond, took < 5*time.Second)
	time.Sleep(0)
	time.Sleep(-1)
}
