package main

/*
#cgo CFLAGS: -I${SRCDIR}/../src
#include "wakes.c"
*/
import "C"

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// The workloads of src/wakes.rs and src/bin/gosched/wakes.rs.

const (
	wakesDuration = 2 * time.Second
	nap           = time.Millisecond
	burst         = 64
	trips         = 2_000_000
)

func wakes() {
	if names("wake_cpu") {
		napping("wake_cpu", 1_000)
	}
	if names("wake_cpu100") {
		napping("wake_cpu100", 100)
	}
	if names("trickle_pipe") {
		trickle("trickle_pipe", fromPipe)
	}
	if names("trickle_timer") {
		trickle("trickle_timer", fromTimer)
	}
	if names("trickle_thread") {
		trickle("trickle_thread", fromThread)
	}
	if names("bursts") {
		bursts()
	}
	if names("pairs_idle") {
		start, before := time.Now(), costOfProcess()
		pingpong(trips)
		took, cost := time.Since(start), costOfProcess().less(before)
		report("pairs_idle", float64(took.Nanoseconds())/trips, "ns/op")
		report("pairs_idle_cpu", cost.cpu/trips, "ns/op")
		report("pairs_idle_switches", cost.switches/trips, "switches")
	}
}

// cost is the cost of threads: nanoseconds of processor time, and how often they went to sleep.
type cost struct{ cpu, switches float64 }

func costOf(c C.struct_cost) cost     { return cost{float64(c.cpu), float64(c.switches)} }
func costOfProcess() cost             { return costOf(C.cost_of_process()) }
func costOfThread() cost              { return costOf(C.cost_of_thread()) }
func (c cost) less(than cost) cost    { return cost{c.cpu - than.cpu, c.switches - than.switches} }
func lateBy(due time.Time) float64    { return float64(time.Since(due).Nanoseconds()) }
func pauseBefore(i int) time.Duration { return time.Duration(50_000 + i*92_717%150_000) }

func reportWakes(name string, c cost, wakes int, late []float64) {
	report(name, c.cpu/float64(wakes), "ns/op")
	report(name+"_switches", c.switches/float64(len(late)), "switches")
	report(name+"_p99", quantile(late, 0.99), "ns")
}

// work does the given number of steps. Each step needs the result of the step before it.
//
//go:noinline
func work(steps int) uint64 {
	x := uint64(1)
	for range steps {
		x = x*6_364_136_223_846_793_005 + 1
	}
	return x
}

// stepsOfWork returns how many steps take 5 µs on this machine, with a processor to themselves.
func stepsOfWork() int {
	const steps = 10_000
	least := math.Inf(1)
	for range 100 {
		least = min(least, since(func() { work(steps) }))
	}
	return int(5e3 * steps / least)
}

func napping(name string, count int) {
	steps := stepsOfWork()
	start := time.Now().Add(100 * nap)
	end := start.Add(wakesDuration)
	late := make([][]float64, count)
	var running sync.WaitGroup
	running.Add(count)
	for i := range count {
		go func() {
			defer running.Done()
			mine := make([]float64, 0, wakesDuration/nap)
			time.Sleep(time.Until(start) + nap*time.Duration(i)/time.Duration(count))
			for {
				due := time.Now().Add(nap)
				if due.After(end) {
					late[i] = mine
					return
				}
				time.Sleep(nap)
				mine = append(mine, lateBy(due))
				work(steps)
			}
		}()
	}
	time.Sleep(time.Until(start))
	before := costOfProcess()
	time.Sleep(time.Until(end))
	cost := costOfProcess().less(before)
	running.Wait()
	var all []float64
	for _, mine := range late {
		all = append(all, mine...)
	}
	reportWakes(name, cost, len(all), all)
}

// trickle measures a goroutine that is woken now and then. The cost of a thread that wakes it is
// left out.
func trickle(name string, wakes func() (late []float64, waker <-chan cost)) {
	before := costOfProcess()
	late, waker := wakes()
	cost := costOfProcess().less(before)
	if waker != nil {
		cost = cost.less(<-waker)
	}
	reportWakes(name, cost, len(late), late)
}

// fromPipe: the writing thread stays in C all the time, and so has no P.
func fromPipe() (late []float64, _ <-chan cost) {
	reader, writer, err := os.Pipe()
	must(err)
	waker := make(chan cost, 1)
	pipe := C.int(writer.Fd())
	go func() {
		waker <- costOf(C.trickle_into(pipe, C.int64_t(wakesDuration)))
		must(writer.Close())
	}()
	var stamp [8]byte
	for {
		if _, err := reader.Read(stamp[:]); err == io.EOF {
			return late, waker
		}
		written := int64(binary.NativeEndian.Uint64(stamp[:]))
		late = append(late, float64(time.Now().UnixNano()-written))
	}
}

func fromTimer() (late []float64, _ <-chan cost) {
	end := time.Now().Add(wakesDuration)
	for i := 0; ; i++ {
		pause := pauseBefore(i)
		due := time.Now().Add(pause)
		if due.After(end) {
			return late, nil
		}
		time.Sleep(pause)
		late = append(late, lateBy(due))
	}
}

// fromThread: the thread belongs to a goroutine that is locked to it, and waits for a P after each
// of its sleeps.
func fromThread() (late []float64, _ <-chan cost) {
	sent := make(chan time.Time, 128)
	waker := make(chan cost, 1)
	go func() {
		runtime.LockOSThread()
		start, before := time.Now(), costOfThread()
		for i := 0; time.Since(start) < wakesDuration; i++ {
			pause := syscall.NsecToTimespec(int64(pauseBefore(i)))
			syscall.Nanosleep(&pause, nil)
			sent <- time.Now()
		}
		waker <- costOfThread().less(before)
		close(sent)
	}()
	for at := range sent {
		late = append(late, lateBy(at))
	}
	return late, waker
}

// bursts: parked goroutines become ready all at once, and work.
func bursts() {
	steps := stepsOfWork()
	var wakers [burst]chan struct{}
	var ran [burst][]time.Time
	var running sync.WaitGroup
	running.Add(burst)
	for i := range burst {
		wakers[i] = make(chan struct{}, 1)
		go func() {
			for range wakers[i] {
				work(steps)
				ran[i] = append(ran[i], time.Now())
			}
			running.Done()
		}()
	}
	start, before := time.Now(), costOfProcess()
	var begun []time.Time
	for time.Since(start) < wakesDuration {
		time.Sleep(nap)
		begun = append(begun, time.Now())
		for _, waker := range wakers {
			waker <- struct{}{}
		}
	}
	cost := costOfProcess().less(before)
	for _, waker := range wakers {
		close(waker)
	}
	running.Wait()
	var late []float64
	for i, begun := range begun {
		done := begun
		for _, ran := range ran {
			if ran[i].After(done) {
				done = ran[i]
			}
		}
		late = append(late, float64(done.Sub(begun).Nanoseconds()))
	}
	reportWakes("bursts", cost, len(late)*burst, late)
}
