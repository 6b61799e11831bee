package main

import (
	"fmt"
	"runtime"
)

type failure struct{ text string }

func (f failure) Error() string { return f.text }

func a() (x int, err error) {
	defer func() {
		switch r := recover().(type) {
		case runtime.Error:
			err = r
		case error:
			err = r
		}
	}()
	return b(), nil
}

func b() int {
	defer func() {
		defer func() { panic(failure{fmt.Sprint("b: ", recover())}) }()
		panic("in defer")
	}()
	var s []int
	return s[3]
}

func c() {
	defer func() { fmt.Println("c", recover()) }()
	for i := 0; i < 3; i++ {
		defer func(i int) {
			fmt.Println("defer", i, recover())
			if i > 0 {
				panic(i)
			}
		}(i)
	}
	panic("start")
}

func main() {
	fmt.Println(a())
	c()
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() { fmt.Println("g", recover()) }()
		var f func()
		f()
	}()
	<-done
	for i := 0; i < 1000; i++ {
		func() { defer func() { recover() }(); panic(i) }()
	}
	fmt.Println("end")
}
