package main

import "fmt"

type list struct {
	next *list
	v    [6]int
}

// Makes much that is forgotten at once, and keeps a little.
func main() {
	var kept *list
	for round := 0; round < 20; round++ {
		var l *list
		for i := 0; i < 10000; i++ {
			l = &list{next: l}
			l.v[i%6] = i
		}
		kept = &list{next: kept, v: l.v}
	}
	n, sum := 0, 0
	for l := kept; l != nil; l = l.next {
		n++
		sum += l.v[9999%6]
	}
	fmt.Println(n, sum)
}
