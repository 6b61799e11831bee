package main

import "fmt"

func main() {
	panic(fmt.Errorf("an error: %d", 5))
}
