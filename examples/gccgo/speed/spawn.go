// Makes goroutines, a thousand at a time, and waits for them.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	const rounds, each = 1000, 1000
	var group sync.WaitGroup
	begin := time.Now()
	for i := 0; i < rounds; i++ {
		group.Add(each)
		for j := 0; j < each; j++ {
			go group.Done()
		}
		group.Wait()
	}
	fmt.Println(time.Since(begin).Nanoseconds() / (rounds * each))
}
