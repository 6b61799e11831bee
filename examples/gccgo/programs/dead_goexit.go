package main

import (
	"fmt"
	"runtime"
)

func main() {
	go fmt.Println("another")
	runtime.Goexit()
}
