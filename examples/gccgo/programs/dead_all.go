package main

import "sync"

func main() {
	var wg sync.WaitGroup
	a, b := make(chan int), make(chan int)
	wg.Add(2)
	go func() { defer wg.Done(); a <- <-b }()
	go func() { defer wg.Done(); b <- <-a }()
	wg.Wait()
}
