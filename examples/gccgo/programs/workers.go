package main

import (
	"fmt"
	"sync"
)

type job struct{ id, n int }

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	jobs, results := make(chan job, 10), make(chan string, 100)
	var wg sync.WaitGroup
	for w := 0; w < 4; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range jobs {
				results <- fmt.Sprintf("%02d:%d", j.id, fib(j.n))
			}
		}()
	}
	for i := 0; i < 20; i++ {
		jobs <- job{i, i}
	}
	close(jobs)
	wg.Wait()
	close(results)
	seen := map[string]bool{}
	for r := range results {
		seen[r] = true
	}
	fmt.Println(seen)
}
