package main

import (
	"bytes"
	"fmt"
	"sync"
)

func main() {
	pool := sync.Pool{New: func() interface{} { return new(bytes.Buffer) }}
	var wg sync.WaitGroup
	lengths := make([]int, 40)
	for i := range lengths {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for j := 0; j < 50; j++ {
				b := pool.Get().(*bytes.Buffer)
				b.Reset()
				for k := 0; k <= i; k++ {
					b.WriteByte('x')
				}
				lengths[i] += b.Len()
				pool.Put(b)
			}
		}(i)
	}
	wg.Wait()
	fmt.Println(lengths)
}
