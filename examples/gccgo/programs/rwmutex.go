package main

import (
	"fmt"
	"sync"
)

func main() {
	var mu sync.RWMutex
	var wg sync.WaitGroup
	table := map[string]int{"k": 0}
	bad := 0
	for i := 0; i < 10; i++ {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for j := 0; j < 100; j++ {
				mu.Lock()
				table["k"]++
				table["k"]++
				mu.Unlock()
			}
		}()
		go func() {
			defer wg.Done()
			for j := 0; j < 100; j++ {
				mu.RLock()
				odd := table["k"]%2 != 0
				mu.RUnlock()
				if odd {
					bad++
				}
			}
		}()
	}
	wg.Wait()
	fmt.Println(table["k"], bad)
}
