package main

import "fmt"

func main() {
	fmt.Println("before")
	<-make(chan int)
}
