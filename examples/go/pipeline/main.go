// A pipeline: one goroutine counts, two square the numbers, and one channel carries the squares of
// both. The reader of that channel stops early, and every stage ends.
package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// A pipeline is what the stages share.
type pipeline struct {
	ctx context.Context
	// The goroutines that haven't ended.
	running sync.WaitGroup
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := &pipeline{ctx: ctx}
	sum := uint64(0)
	for square := range p.squares(100) {
		sum += square
	}
	p.running.Wait()
	fmt.Println("the squares of 1 to 100 add up to", sum)

	squares := p.squares(math.MaxUint64)
	first := map[uint64]bool{}
	for len(first) < 10 {
		if square := <-squares; square <= 100 {
			first[square] = true
		}
	}
	fmt.Printf("the first ten are %v: enough\n", slices.Sorted(maps.Keys(first)))
	cancel()
	p.running.Wait()
	fmt.Println("all goroutines have ended")
}

// squares returns the squares of the numbers up to last, in any order.
func (p *pipeline) squares(last uint64) <-chan uint64 {
	numbers := p.generate(last)
	return p.merge(p.square(numbers), p.square(numbers))
}

// generate is the first stage.
func (p *pipeline) generate(last uint64) <-chan uint64 {
	out := make(chan uint64)
	p.running.Go(func() {
		defer close(out)
		for n := uint64(1); n <= last && p.send(out, n); n++ {
		}
	})
	return out
}

// square is a middle stage: it ends when the stage before it does, or when the context does.
func (p *pipeline) square(numbers <-chan uint64) <-chan uint64 {
	out := make(chan uint64)
	p.running.Go(func() {
		defer close(out)
		for n := range numbers {
			if !p.send(out, n*n) {
				return
			}
		}
	})
	return out
}

// merge is the last stage: it ends when the last of its inputs has ended.
func (p *pipeline) merge(inputs ...<-chan uint64) <-chan uint64 {
	out := make(chan uint64)
	var copying sync.WaitGroup
	for _, input := range inputs {
		copying.Add(1)
		p.running.Go(func() {
			defer copying.Done()
			for n := range input {
				if !p.send(out, n) {
					return
				}
			}
		})
	}
	p.running.Go(func() {
		copying.Wait()
		close(out)
	})
	return out
}

// send reports whether the value was sent before the context ended.
func (p *pipeline) send(out chan<- uint64, n uint64) bool {
	select {
	case out <- n:
		return true
	case <-p.ctx.Done():
		return false
	}
}
