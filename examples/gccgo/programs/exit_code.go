package main

import (
	"fmt"
	"os"
)

func main() {
	defer fmt.Println("not printed")
	fmt.Println("leaving")
	os.Exit(3)
}
