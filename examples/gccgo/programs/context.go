package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

type key string

func main() {
	root := context.WithValue(context.Background(), key("user"), "gopher")
	ctx, cancel := context.WithCancel(root)
	var wg sync.WaitGroup
	for i := 0; i < 5; i++ {
		wg.Add(1)
		go func() { defer wg.Done(); <-ctx.Done() }()
	}
	cancel()
	wg.Wait()
	fmt.Println(ctx.Err(), ctx.Value(key("user")))
	late, stop := context.WithTimeout(root, 10*time.Millisecond)
	defer stop()
	<-late.Done()
	fmt.Println(late.Err())
}
