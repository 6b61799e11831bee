package main

import (
	"fmt"
	"runtime"
)

var flag bool

// Loops without a call, a check or an end: only preemption between two instructions lets main go on.
func spin() {
	for i := 0; ; i++ {
		if i < 0 {
			flag = true
		}
	}
}

func main() {
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		go spin()
	}
	runtime.Gosched()
	c := make(chan int)
	go func() { c <- 1 }()
	fmt.Println("main goes on", <-c)
}
