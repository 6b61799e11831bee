package main

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The tasks of sysmon, as in src/bin/gosched/monitor.rs.

func monitor() {
	if wants("preempt_p99") {
		var waits []float64
		whileAllSpin(func() {
			for range 500 {
				// The work spreads the tries over several time slices.
				for start := time.Now(); time.Since(start) < time.Millisecond; {
				}
				waits = append(waits, since(runtime.Gosched))
			}
		})
		report("preempt_p99", quantile(waits, 0.99), "ns")
	}
	if names("wake") {
		wake()
	}
	if names("pair") {
		pair()
	}
	if names("blocked") {
		blocked()
	}
	if names("threads") {
		manyBlocked(10_000, 10)
	}
	if names("idle") {
		idle()
	}
}

func names(workload string) bool {
	return slices.Contains(wanted, workload)
}

// since returns how many nanoseconds f takes.
func since(f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Nanoseconds())
}

func quantile(values []float64, q float64) float64 {
	values = slices.Clone(values)
	slices.Sort(values)
	rank := int(math.Ceil(float64(len(values)) * q))
	return values[max(rank, 1)-1]
}

func reportWaits(name string, waits []float64) {
	report(name+"_p50", quantile(waits, 0.5), "ns")
	report(name+"_p99", quantile(waits, 0.99), "ns")
	report(name+"_max", quantile(waits, 1), "ns")
}

// whileAllSpin calls f while each P has a goroutine that spins.
func whileAllSpin(f func()) {
	var stop atomic.Bool
	var running sync.WaitGroup
	running.Add(procs)
	for range procs {
		go func() {
			for !stop.Load() {
			}
			running.Done()
		}()
	}
	f()
	stop.Store(true)
	running.Wait()
}

const tries = 1_000

// wake measures the time from when a goroutine that has slept could run until it runs, while each P
// has a goroutine that spins.
func wake() {
	var late []float64
	whileAllSpin(func() {
		for i := range tries {
			due := time.Now().Add(time.Duration(1_000+i*7_919%19_000) * time.Microsecond)
			time.Sleep(time.Until(due))
			late = append(late, float64(time.Since(due).Nanoseconds()))
		}
	})
	reportWaits("wake_timer", late)
}

// pair measures how long a yield takes while, for each P, two goroutines hand a value to and fro.
func pair() {
	var stop atomic.Bool
	var running sync.WaitGroup
	running.Add(procs)
	for range procs {
		ping, pong := make(chan struct{}), make(chan struct{})
		go func() {
			for !stop.Load() {
				ping <- struct{}{}
				<-pong
			}
			close(ping)
			running.Done()
		}()
		go func() {
			for range ping {
				pong <- struct{}{}
			}
		}()
	}
	var waits []float64
	for range tries {
		waits = append(waits, since(runtime.Gosched))
	}
	stop.Store(true)
	running.Wait()
	reportWaits("pair", waits)
}

// blocked measures how long a goroutine computes while another waits in a system call, divided by
// how long it takes alone.
func blocked() {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		panic(err)
	}
	var ratios []float64
	for range 100 {
		alone := since(compute)
		var running sync.WaitGroup
		running.Add(1)
		go func() {
			var b [1]byte
			n, _ := syscall.Read(ends[0], b[:])
			check("blocked", n, 1)
			running.Done()
		}()
		runtime.Gosched()
		beside := since(compute)
		syscall.Write(ends[1], []byte{0})
		running.Wait()
		ratios = append(ratios, beside/alone)
	}
	report("blocked", quantile(ratios, 0.5), "ratio")
}

var sum atomic.Uint64

//go:noinline
func compute() {
	x := uint64(0)
	for i := range uint64(20_000_000) {
		x ^= i
	}
	sum.Store(x)
}

// manyBlocked counts the threads that goroutines need if they enter and leave system calls all the
// time.
func manyBlocked(count, calls int) {
	var running sync.WaitGroup
	running.Add(count)
	start := time.Now()
	for range count {
		go func() {
			for range calls {
				ms := syscall.NsecToTimespec(1_000_000)
				syscall.Nanosleep(&ms, nil)
			}
			running.Done()
		}()
	}
	running.Wait()
	report("threads", status("Threads"), "threads")
	report("threads_call", float64(time.Since(start).Nanoseconds())/float64(count*calls), "ns/op")
}

// idle measures the processor time of the process in 10 s in which all its goroutines are parked.
func idle() {
	gate := make(chan struct{})
	for range 1_000 {
		go func() { <-gate }()
	}
	time.Sleep(100 * time.Millisecond)
	before := cpuTime()
	time.Sleep(10 * time.Second)
	report("idle", cpuTime()-before, "ns")
}

// cpuTime returns how many nanoseconds the threads of this process have run, ended threads
// included.
func cpuTime() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}
