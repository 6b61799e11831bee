package main

import "fmt"

func main() {
	c := make(chan string, 3)
	c <- "a"
	c <- "b"
	fmt.Println(len(c), cap(c))
	close(c)
	for s := range c {
		fmt.Println(s)
	}
	s, ok := <-c
	fmt.Printf("%q %v %d\n", s, ok, len(c))
	var none chan int
	fmt.Println(len(none), cap(none))
}
