package main

import (
	"fmt"
	"sync"
)

type queue struct {
	mu    sync.Mutex
	some  *sync.Cond
	items []int
}

func (q *queue) put(v int) {
	q.mu.Lock()
	q.items = append(q.items, v)
	q.mu.Unlock()
	q.some.Signal()
}

func (q *queue) take() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 {
		q.some.Wait()
	}
	v := q.items[0]
	q.items = q.items[1:]
	return v
}

func main() {
	q := &queue{}
	q.some = sync.NewCond(&q.mu)
	sums := make(chan int)
	for i := 0; i < 4; i++ {
		go func() {
			sum := 0
			for j := 0; j < 25; j++ {
				sum += q.take()
			}
			sums <- sum
		}()
	}
	for i := 0; i < 100; i++ {
		q.put(i)
	}
	fmt.Println(<-sums + <-sums + <-sums + <-sums)
	var mu sync.Mutex
	all, open, in := sync.NewCond(&mu), false, make(chan bool)
	for i := 0; i < 5; i++ {
		go func() {
			mu.Lock()
			for !open {
				all.Wait()
			}
			mu.Unlock()
			in <- true
		}()
	}
	mu.Lock()
	open = true
	all.Broadcast()
	mu.Unlock()
	for i := 0; i < 5; i++ {
		<-in
	}
	fmt.Println("all in")
}
