package main

import "fmt"

func named() (n int) {
	defer func() { n *= 2 }()
	return 21
}

func nested(depth int) {
	defer fmt.Println("leave", depth)
	if depth > 0 {
		nested(depth - 1)
	}
}

func loop() {
	for i := 0; i < 4; i++ {
		defer func(i int) { fmt.Print(i, " ") }(i)
	}
}

type closer string

func (c closer) Close() { fmt.Println("close", c) }

func main() {
	fmt.Println(named())
	nested(3)
	loop()
	fmt.Println()
	c := closer("file")
	defer c.Close()
	func() {
		defer func() { fmt.Println("inner") }()
	}()
}
