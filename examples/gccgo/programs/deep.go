package main

import "fmt"

type node struct {
	left, right *node
	value       int
}

func build(depth, value int) *node {
	if depth == 0 {
		return nil
	}
	return &node{build(depth-1, 2*value), build(depth-1, 2*value+1), value}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.left.sum() + n.value + n.right.sum()
}

func depth(n int) int {
	var pad [20]int
	pad[n%20] = n
	if n == 0 {
		return 0
	}
	return depth(n-1) + 1 + pad[n%20] - n
}

func main() {
	done := make(chan int)
	for i := 0; i < 4; i++ {
		go func(i int) { done <- depth(20000) + build(10, i).sum() }(i)
	}
	total := 0
	for i := 0; i < 4; i++ {
		total += <-done
	}
	fmt.Println(total)
}
