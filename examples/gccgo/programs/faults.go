package main

import (
	"fmt"
	"runtime"
)

type thing struct {
	pad [100]int
	v   int
}

func try(what string, f func()) {
	defer func() {
		r := recover()
		_, is := r.(runtime.Error)
		fmt.Println(what, "=>", r, is)
	}()
	f()
}

func main() {
	var p *thing
	var m map[string]int
	var i interface{} = "text"
	var f func()
	var s []int
	zero, five := 0, 5
	try("nil read", func() { fmt.Println(p.v) })
	try("nil write", func() { p.v = 1 })
	try("nil map", func() { m["a"] = 1 })
	try("nil func", func() { f() })
	try("divide", func() { fmt.Println(five / zero) })
	try("remainder", func() { fmt.Println(five % zero) })
	try("index", func() { fmt.Println(s[five]) })
	try("slice", func() { fmt.Println([]int{1, 2}[:five]) })
	try("slice order", func() { fmt.Println("hello"[five:zero]) })
	try("assert", func() { fmt.Println(i.(int)) })
	try("make", func() { fmt.Println(make([]int, zero-five)) })
	try("close nil", func() { var c chan int; close(c) })
	try("close twice", func() { c := make(chan int); close(c); close(c) })
	try("send closed", func() { c := make(chan int, 1); close(c); c <- 1 })
	try("select closed", func() {
		c := make(chan int, 1)
		close(c)
		select {
		case c <- 1:
		case <-make(chan int):
		}
	})
	try("hash", func() { fmt.Println(map[interface{}]int{}[[]int{1}]) })
	try("compare", func() { fmt.Println(i == interface{}([]int{1}), interface{}([]int{}) == interface{}([]int{})) })
}
