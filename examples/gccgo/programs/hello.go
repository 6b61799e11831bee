package main

import "fmt"

func main() {
	fmt.Println("hello", 42, 3.5, true, 'x', "wörld")
}
