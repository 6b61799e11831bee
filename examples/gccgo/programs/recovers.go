package main

import (
	"errors"
	"fmt"
)

func try(f func()) (result string) {
	defer func() {
		if r := recover(); r != nil {
			result = fmt.Sprint("recovered: ", r)
		}
	}()
	f()
	return "fine"
}

func rethrow() {
	defer func() {
		r := recover()
		panic(fmt.Sprint("again ", r))
	}()
	panic("first")
}

func deep(n int) int {
	if n == 0 {
		panic(errors.New("bottom"))
	}
	var pad [30]int
	pad[n%30] = n
	return deep(n-1) + pad[n%30]
}

func main() {
	fmt.Println(try(func() {}))
	fmt.Println(try(func() { panic("text") }))
	fmt.Println(try(func() { panic(42) }))
	fmt.Println(try(rethrow))
	fmt.Println(try(func() { deep(1000) }))
	c := make(chan string)
	for i := 0; i < 3; i++ {
		go func() { c <- try(func() { deep(500) }) }()
	}
	fmt.Println(<-c, <-c, <-c)
	fmt.Println(try(func() {
		defer fmt.Println("deferred runs")
		defer func() { defer func() { fmt.Println("inner sees", recover()) }(); panic("second") }()
		panic("outer")
	}))
	fmt.Println(recover())
}
