package main

import "os"

func main() {
	println(1 / (len(os.Args) - 1))
}
