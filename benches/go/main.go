// The workloads on Go's own runtime, with the command line and the output that src/lib.rs
// describes: PROGRAM PROCS [WORKLOAD ...].
package main

import (
	"fmt"
	"iter"
	"os"
	"runtime"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	procs int
	// The workloads to run; if there are none, all of them.
	wanted []string
)

func main() {
	if len(os.Args) > 1 {
		procs, _ = strconv.Atoi(os.Args[1])
	}
	if procs < 1 {
		fmt.Fprintln(os.Stderr, "usage: PROGRAM PROCS [WORKLOAD ...]")
		os.Exit(2)
	}
	wanted = os.Args[2:]
	runtime.GOMAXPROCS(procs)
	if path := os.Getenv("TRACE"); path != "" {
		defer traced(path)()
	}
	if slices.Equal(wanted, []string{"grow_cold"}) {
		growCold(1_000)
		return
	}
	timed("gosched", 5_000_000, gosched)
	timed("spawn", 2_000_000, spawn)
	timed("spawn_wait", 1_000_000, spawnWait)
	timed("pingpong", 2_000_000, pingpong)
	timed("bufchan", 10_000_000, bufchan)
	timed("select4", 2_000_000, select4)
	timed("skynet", 5, skynet)
	timed("fib", 200, fibs)
	timed("grow", 20_000, grow)
	timed("sleepers", 100_000, sleepers)
	timed("mutex", 10_000_000, mutex)
	timed("coroswitch", 10_000_000, coroswitch)
	timed("syscall", 5_000_000, getppid)
	monitor()
	echoes()
	https()
	resps()
	wakes()
	beside()
	if wants("parked") {
		parked(1_000_000)
	}
}

// traced traces the execution into a file, until the caller calls stop.
func traced(path string) (stop func()) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	if err := trace.Start(file); err != nil {
		panic(err)
	}
	return func() {
		trace.Stop()
		file.Close()
	}
}

func wants(workload string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, workload)
}

// timed runs f(ops), if the workload is wanted: first with a tenth of the ops to warm up, and then
// timed.
func timed(workload string, ops int, f func(n int)) {
	if !wants(workload) {
		return
	}
	f((ops + 9) / 10)
	start := time.Now()
	f(ops)
	report(workload, float64(time.Since(start).Nanoseconds())/float64(ops), "ns/op")
}

// report prints a line of the output.
func report(name string, value float64, unit string) {
	fmt.Printf("%s\t%d\t%.3f\t%s\n", name, procs, value, unit)
}

func check(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("%s: %d, but %d was expected", what, got, want))
	}
}

func gosched(n int) {
	var running sync.WaitGroup
	running.Add(2)
	for range 2 {
		go func() {
			for range n / 2 {
				runtime.Gosched()
			}
			running.Done()
		}()
	}
	running.Wait()
}

func spawn(n int) {
	var running sync.WaitGroup
	for i := range n {
		running.Add(1)
		go running.Done()
		if i%100 == 99 {
			running.Wait()
		}
	}
	running.Wait()
}

func spawnWait(n int) {
	for range n {
		var running sync.WaitGroup
		running.Add(1)
		go running.Done()
		running.Wait()
	}
}

func pingpong(n int) {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for value := range ping {
			pong <- value
		}
	}()
	for i := range n {
		ping <- i
		check("pingpong", <-pong, i)
	}
	close(ping)
}

func coroswitch(n int) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	})
	defer stop()
	sum := 0
	for value, ok := next(); ok; value, ok = next() {
		sum += value
	}
	check("coroswitch", sum, n*(n-1)/2)
}

func bufchan(n int) {
	c := make(chan int, 128)
	go func() {
		for i := range n {
			c <- i
		}
		close(c)
	}()
	sum := 0
	for value := range c {
		sum += value
	}
	check("bufchan", sum, n*(n-1)/2)
}

func select4(n int) {
	var c [4]chan int
	for k := range c {
		c[k] = make(chan int)
		go func() {
			for i := range n / 4 {
				c[k] <- i
			}
		}()
	}
	for range n / 4 * 4 {
		select {
		case <-c[0]:
		case <-c[1]:
		case <-c[2]:
		case <-c[3]:
		}
	}
}

func skynet(n int) {
	for range n {
		out := make(chan int)
		go node(out, 0, 1_000_000)
		check("skynet", <-out, 499_999_500_000)
	}
}

func node(out chan int, first, size int) {
	if size == 1 {
		out <- first
		return
	}
	parts := make(chan int)
	for i := range 10 {
		go node(parts, first+i*(size/10), size/10)
	}
	sum := 0
	for range 10 {
		sum += <-parts
	}
	out <- sum
}

func fibs(n int) {
	for range n {
		check("fib", fib(27), 196_418)
	}
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	if n < 12 {
		return fib(n-1) + fib(n-2)
	}
	c := make(chan int, 1)
	go func() { c <- fib(n - 1) }()
	return fib(n-2) + <-c
}

//go:noinline
func deep(n int) int {
	var pad [16]int // 128 bytes a frame, at the least
	pad[n%16] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + pad[n%16]
}

func grow(n int) {
	for range n {
		var running sync.WaitGroup
		running.Add(1)
		go func() {
			deep(300)
			running.Done()
		}()
		running.Wait()
	}
}

// growCold must run once in a process that hasn't done anything before.
func growCold(n int) {
	var growing, running sync.WaitGroup
	gate := make(chan struct{})
	start := time.Now()
	growing.Add(n)
	running.Add(n)
	for range n {
		go func() {
			deep(300)
			growing.Done()
			<-gate
			running.Done()
		}()
	}
	growing.Wait()
	close(gate)
	running.Wait()
	report("grow_cold", float64(time.Since(start).Nanoseconds())/float64(n), "ns/op")
}

func sleepers(n int) {
	var running sync.WaitGroup
	running.Add(n)
	for range n {
		go func() {
			time.Sleep(10 * time.Millisecond)
			running.Done()
		}()
	}
	running.Wait()
}

func mutex(n int) {
	var mu sync.Mutex
	var running sync.WaitGroup
	running.Add(8)
	for range 8 {
		go func() {
			for range n / 8 {
				mu.Lock()
				mu.Unlock()
			}
			running.Done()
		}()
	}
	running.Wait()
}

func getppid(n int) {
	for range n {
		syscall.Syscall(syscall.SYS_GETPPID, 0, 0, 0)
	}
}

func parked(n int) {
	var running sync.WaitGroup
	gate := make(chan struct{})
	rss, pte := memory("VmRSS"), memory("VmPTE")
	start := time.Now()
	running.Add(n)
	for range n {
		go func() {
			<-gate
			running.Done()
		}()
	}
	// The last goroutines have yet to park.
	for range 3 {
		runtime.Gosched()
	}
	each := func(name string, total float64, unit string) { report(name, total/float64(n), unit) }
	each("parked", float64(time.Since(start).Nanoseconds()), "ns/op")
	each("parked_rss", memory("VmRSS")-rss, "bytes")
	each("parked_pte", memory("VmPTE")-pte, "bytes")
	start = time.Now()
	close(gate)
	running.Wait()
	each("parked_release", float64(time.Since(start).Nanoseconds()), "ns/op")
}

// memory returns this process's memory in bytes; kind names a line of /proc/self/status.
func memory(kind string) float64 {
	return status(kind) * 1024
}

// status returns the number in such a line.
func status(kind string) float64 {
	lines, _ := os.ReadFile("/proc/self/status")
	_, line, _ := strings.Cut(string(lines), kind+":")
	var value float64
	fmt.Sscan(line, &value)
	return value
}
