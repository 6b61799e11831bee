package main

import (
	"fmt"
	"time"
)

func main() {
	select {
	case <-make(chan int):
	case <-time.After(20 * time.Millisecond):
		fmt.Println("timeout")
	}
	t := time.NewTimer(time.Hour)
	fmt.Println(t.Stop(), t.Stop())
	t.Reset(10 * time.Millisecond)
	<-t.C
	fmt.Println("reset")
	fired := make(chan string)
	time.AfterFunc(10*time.Millisecond, func() { fired <- "func" })
	fmt.Println(<-fired)
	never := time.AfterFunc(time.Hour, func() { fired <- "never" })
	fmt.Println(never.Stop())
}
