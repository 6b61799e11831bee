package main

import (
	"fmt"
	"runtime"
)

func main() {
	before := runtime.NumGoroutine()
	stop := make(chan bool)
	for i := 0; i < 10; i++ {
		go func() { <-stop }()
	}
	fmt.Println(before, runtime.NumGoroutine())
	close(stop)
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched()
	}
	fmt.Println(runtime.NumGoroutine())
	old := runtime.GOMAXPROCS(3)
	fmt.Println(runtime.GOMAXPROCS(old), runtime.GOMAXPROCS(0) == old)
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println(runtime.NumCPU() > 0, runtime.GOOS, stats.Mallocs > 0)
}
