package main

import (
	"fmt"
	"time"
)

func main() {
	tick := time.NewTicker(5 * time.Millisecond)
	n := 0
	stop := time.After(2 * time.Second)
loop:
	for {
		select {
		case <-tick.C:
			if n++; n == 10 {
				break loop
			}
		case <-stop:
			break loop
		}
	}
	tick.Stop()
	fmt.Println(n)
	tick.Reset(time.Millisecond)
	<-tick.C
	tick.Stop()
	select {
	case <-time.After(10 * time.Millisecond):
		fmt.Println("stopped")
	}
}
