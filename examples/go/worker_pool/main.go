// A worker pool: a channel carries jobs to four workers, and all workers end together.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
)

// group is the part of golang.org/x/sync/errgroup that this program needs.
type group struct {
	wg     sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func withContext(parent context.Context) *group {
	ctx, cancel := context.WithCancelCause(parent)
	return &group{ctx: ctx, cancel: cancel}
}

func (g *group) run(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.cancel(err)
		}
	})
}

type result struct {
	steps int
	n     uint64
}

func main() {
	ctx := context.Background()
	// The jobs never end, so only the failure ends the generator and the other workers.
	report(longest(ctx, func(yield func(uint64) bool) {
		for n := uint64(1); yield(n % 1000); n++ {
		}
	}))

	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	report(longest(soon, func(yield func(uint64) bool) {
		for yield(27) {
		}
	}))

	report(longest(ctx, func(yield func(uint64) bool) {
		for n := uint64(1); n <= 1000 && yield(n); n++ {
		}
	}))
}

func report(best result, err error) {
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	fmt.Printf("%d takes the most steps, %d\n", best.n, best.steps)
}

// longest returns the most steps that one of the numbers takes to 1, and that number.
func longest(ctx context.Context, numbers iter.Seq[uint64]) (result, error) {
	g := withContext(ctx)
	defer g.cancel(nil)
	jobs := make(chan uint64)
	g.run(func() error {
		defer close(jobs)
		for n := range numbers {
			select {
			case jobs <- n:
			case <-g.ctx.Done():
				return g.ctx.Err()
			}
		}
		return nil
	})
	results := make(chan result)
	for range 4 {
		g.run(func() error {
			for n := range jobs {
				steps, err := steps(n)
				if err != nil {
					return err
				}
				select {
				case results <- result{steps, n}:
				case <-g.ctx.Done():
					return g.ctx.Err()
				}
			}
			return nil
		})
	}
	go func() {
		g.wg.Wait()
		close(results)
	}()
	var best result
	for r := range results {
		if r.steps > best.steps {
			best = r
		}
	}
	return best, context.Cause(g.ctx)
}

// steps returns the number of steps that Collatz's rule takes from a number to 1.
func steps(n uint64) (int, error) {
	if n == 0 {
		return 0, errors.New("from 0 no step leads to 1")
	}
	steps := 0
	for ; n != 1; steps++ {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
	}
	return steps, nil
}
