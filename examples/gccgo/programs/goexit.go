package main

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer fmt.Println("deferred", recover())
		func() {
			defer fmt.Println("inner")
			runtime.Goexit()
		}()
		fmt.Println("not reached")
	}()
	wg.Wait()
	fmt.Println("main goes on")
}
