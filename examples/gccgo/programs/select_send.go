package main

import "fmt"

func main() {
	evens, odds := make(chan int), make(chan int)
	done := make(chan [2]int)
	collect := func(c chan int) {
		n, sum := 0, 0
		for v := range c {
			n++
			sum += v
		}
		done <- [2]int{n, sum}
	}
	go collect(evens)
	go collect(odds)
	for i := 0; i < 1000; i++ {
		e, o := evens, odds
		if i%2 == 0 {
			o = nil
		} else {
			e = nil
		}
		select {
		case e <- i:
		case o <- i:
		}
	}
	close(evens)
	close(odds)
	x, y := <-done, <-done
	fmt.Println(x[0]+y[0], x[1]+y[1])
	closed := make(chan int)
	close(closed)
	select {
	case v, ok := <-closed:
		fmt.Println(v, ok)
	}
	var never chan int
	select {
	case <-never:
	default:
		fmt.Println("a nil channel is never ready")
	}
}
