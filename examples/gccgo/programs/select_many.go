package main

import (
	"fmt"
	"math/rand"
	"sync"
	"time"
)

func main() {
	var cs [50]chan int
	for i := range cs {
		cs[i] = make(chan int, i%3)
	}
	var wg sync.WaitGroup
	for i := range cs {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for j := 0; j < 20; j++ {
				cs[i] <- 1
				if rand.Intn(10) == 0 {
					time.Sleep(time.Microsecond)
				}
			}
		}(i)
	}
	sum := 0
	for sum < 1000 {
		select {
		case v := <-cs[0]:
			sum += v
		case v := <-cs[1]:
			sum += v
		case v := <-cs[2]:
			sum += v
		case v := <-cs[3]:
			sum += v
		case v := <-cs[4]:
			sum += v
		default:
			for i := 5; i < 50; i++ {
				select {
				case v := <-cs[i]:
					sum += v
				case <-time.After(time.Millisecond):
				}
			}
		}
	}
	wg.Wait()
	fmt.Println(sum)
}
