package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

func main() {
	var m sync.Map
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for j := 0; j < 100; j++ {
				m.LoadOrStore(j, i*0+j*j)
			}
		}(i)
	}
	wg.Wait()
	sum := 0
	m.Range(func(k, v interface{}) bool { sum += v.(int); return true })
	var v atomic.Value
	v.Store([]int{1, 2, 3})
	fmt.Println(sum, v.Load())
}
