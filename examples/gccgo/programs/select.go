package main

import "fmt"

func main() {
	a, b, quit := make(chan int), make(chan string), make(chan bool)
	go func() {
		for i := 0; i < 100; i++ {
			a <- i
		}
		quit <- true
	}()
	go func() {
		for i := 0; i < 100; i++ {
			b <- "s"
		}
		quit <- true
	}()
	sum, n, quits := 0, 0, 0
	for quits < 2 {
		select {
		case i := <-a:
			sum += i
		case s := <-b:
			n += len(s)
		case <-quit:
			quits++
		}
	}
	fmt.Println(sum, n)
	select {
	case i := <-a:
		fmt.Println("received", i)
	default:
		fmt.Println("nothing")
	}
	full := make(chan int, 1)
	for i := 0; i < 3; i++ {
		select {
		case full <- i:
			fmt.Println("sent", i)
		default:
			fmt.Println("full")
		}
	}
	select {
	case v, ok := <-full:
		fmt.Println(v, ok)
	case <-a:
	}
}
