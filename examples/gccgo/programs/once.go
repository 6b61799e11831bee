package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

func main() {
	var once sync.Once
	var wg sync.WaitGroup
	var ran, calls int32
	for i := 0; i < 20; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			once.Do(func() { atomic.AddInt32(&ran, 1) })
			atomic.AddInt32(&calls, 1)
		}()
	}
	wg.Wait()
	fmt.Println(ran, calls)
}
