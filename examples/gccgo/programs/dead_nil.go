package main

func main() {
	var c chan int
	c <- 1
}
