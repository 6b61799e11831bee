package main

import "fmt"

type big struct {
	name  string
	table [40]int
	inner struct{ x, y float64 }
}

func main() {
	c := make(chan big)
	empty := make(chan struct{}, 2)
	go func() {
		for i := 0; i < 5; i++ {
			var b big
			b.name = fmt.Sprint("big", i)
			b.table[i] = i * i
			b.inner.x = float64(i) / 2
			c <- b
		}
		empty <- struct{}{}
		close(c)
	}()
	for b := range c {
		sum := 0
		for _, v := range b.table {
			sum += v
		}
		fmt.Println(b.name, sum, b.inner)
	}
	<-empty
	fmt.Println(len(empty))
}
