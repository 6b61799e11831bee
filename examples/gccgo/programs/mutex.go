package main

import (
	"fmt"
	"sync"
)

func main() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	counts := map[int]int{}
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for j := 0; j < 200; j++ {
				mu.Lock()
				n++
				counts[i%7]++
				mu.Unlock()
			}
		}(i)
	}
	wg.Wait()
	fmt.Println(n, counts)
}
