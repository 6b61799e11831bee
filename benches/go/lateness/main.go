// The lateness of a ticker of 5 ms beside a loop of each operation, on Go's own runtime.
// benches/src/bin/lateness.rs measures the same on gosched.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var only []string

func beside(name string, op func()) {
	if len(only) > 0 {
		wanted := false
		for _, part := range only {
			wanted = wanted || strings.Contains(name, part)
		}
		if !wanted {
			return
		}
	}
	var over atomic.Bool
	var all []time.Duration
	done := make(chan bool)
	go func() {
		for !over.Load() {
			begun := time.Now()
			time.Sleep(5 * time.Millisecond)
			all = append(all, time.Since(begun)-5*time.Millisecond)
		}
		close(done)
	}()
	begun := time.Now()
	ops := 0
	for time.Since(begun) < time.Second {
		for range 100 {
			op()
		}
		ops += 100
	}
	over.Store(true)
	<-done
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	fmt.Printf("%-24s worst %8.1f ms, median %6.1f ms, %9d operations\n", name, ms(all[len(all)-1]), ms(all[len(all)/2]), ops)
}

var sink any

func main() {
	only = os.Args[1:]
	for procs := 1; procs <= 2; procs++ {
		runtime.GOMAXPROCS(procs)
		fmt.Println("GOMAXPROCS", procs)
		n := 0
		beside("nothing", func() { n++ })
		beside("go", func() { go func() {}() })
		beside("go and join", func() {
			done := make(chan bool)
			go func() { close(done) }()
			<-done
		})
		c := make(chan int, 1000)
		beside("send and receive", func() { c <- 1; <-c })
		empty := make(chan int)
		beside("try_recv", func() {
			select {
			case <-empty:
			default:
			}
		})
		beside("try_send", func() {
			select {
			case empty <- 1:
			default:
			}
		})
		var m sync.Mutex
		beside("mutex", func() { m.Lock(); n++; m.Unlock() })
		var rw sync.RWMutex
		beside("rwlock write", func() { rw.Lock(); n++; rw.Unlock() })
		beside("rwlock read", func() { rw.RLock(); n++; rw.RUnlock() })
		var wg sync.WaitGroup
		beside("wait group", func() { wg.Add(1); wg.Done(); wg.Wait() })
		cond := sync.NewCond(&m)
		beside("notify", cond.Signal)
		beside("after", func() { sink = time.After(time.Second) })
		beside("after 0, receive", func() { <-time.After(0) })
		beside("sleep 0", func() { time.Sleep(0) })
		beside("yield", runtime.Gosched)
		beside("blocking", func() { var st [1]byte; _ = st; os.Getppid() })
		beside("stat", func() { os.Stat("/") })
		beside("context", func() {
			ctx, cancel := context.WithCancel(context.Background())
			ctx.Err()
			cancel()
		})
		beside("allocate 100", func() { sink = make([]byte, 100) })
		beside("allocate 300,000", func() { sink = make([]byte, 300_000) })
		beside("number of goroutines", func() { n += runtime.NumGoroutine() })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		a, _ := net.Dial("tcp", l.Addr().String())
		b, _ := l.Accept()
		var buf [10]byte
		beside("tcp write and read", func() { a.Write(buf[:]); b.Read(buf[:]) })
		beside("tcp connect", func() {
			a, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			b, _ := l.Accept()
			a.Close()
			b.Close()
		})
		path := os.TempDir() + fmt.Sprintf("/lateness-%d", os.Getpid())
		beside("file write", func() { os.WriteFile(path, []byte("x"), 0o600) })
		os.Remove(path)
		text := make([]byte, 1<<20)
		beside("dump", func() { runtime.Stack(text, true) })
	}
}
