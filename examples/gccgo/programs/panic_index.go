package main

import "os"

func main() {
	a := []int{1, 2, 3}
	println(a[len(os.Args)+4])
}
