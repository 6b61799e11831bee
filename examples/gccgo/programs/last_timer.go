package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	t := time.NewTimer(50 * time.Millisecond)
	go func() { <-t.C; fmt.Println("fired"); os.Exit(0) }()
	c := make(chan int)
	<-c
}
