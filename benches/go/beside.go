package main

/*
#cgo CFLAGS: -I${SRCDIR}/../src
#include <netdb.h>
#include "foreign.c"

static int look_up(unsigned short port) {
	struct addrinfo *found;
	look_up_at(port);
	return getaddrinfo("nobody.invalid", "80", NULL, &found);
}
*/
import "C"

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The workloads of src/bin/gosched/beside.rs and library.rs.

const (
	// The number of loops in a workload of many.
	manyHogs = 100
	// How long a goroutine waits each time.
	pause = 200 * time.Millisecond
)

// beside runs the one workload that is named, and ends the process, because its goroutines never
// end.
func beside() {
	for _, workload := range []struct {
		name  string
		start func()
	}{
		{"beside_nothing", func() {}},
		{"beside_loop", func() { loops(1) }},
		{"beside_2_loops", func() { loops(2) }},
		{"beside_100_loops", func() { loops(manyHogs) }},
		{"beside_c", func() { go C.spin_in_c() }},
		{"beside_sleep", func() { go sleeper() }},
		{"beside_mutex", parkedHolder},
		{"beside_pipe", fullPipe},
		{"beside_connect", connect},
		{"beside_lookup", lookUp},
		{"beside_drop", func() { go deferInPanic() }},
		{"beside_handler", func() { go handler() }},
	} {
		if slices.Equal(wanted, []string{workload.name}) {
			workload.start()
			ticks := 500
			if text, set := os.LookupEnv("TICKS"); set {
				number, err := strconv.Atoi(text)
				must(err)
				ticks = number
			}
			reportWaits(workload.name, lateness(func(count int) bool { return count < ticks }))
			os.Exit(0)
		}
	}
	if slices.Equal(wanted, []string{"hogs"}) {
		hogs()
		os.Exit(0)
	}
	if names("library") {
		library()
	}
}

// lateness returns how late the ticks of a ticker of 10 ms were, in nanoseconds. It goes on as long
// as more returns true. A tick may be dropped because the one before hasn't been received: its
// lateness is counted up to the next tick that comes.
func lateness(more func(count int) bool) (late []float64) {
	const period = 10 * time.Millisecond
	due := time.Now().Add(period)
	ticker := time.NewTicker(period)
	for more(len(late)) {
		<-ticker.C
		for now := time.Now(); !due.After(now) && more(len(late)); due = due.Add(period) {
			late = append(late, float64(now.Sub(due).Nanoseconds()))
		}
	}
	return late
}

func loops(count int) {
	for range count {
		go func() {
			for {
			}
		}()
	}
}

func sleeper() {
	for {
		ts := syscall.NsecToTimespec(pause.Nanoseconds())
		syscall.Nanosleep(&ts, nil)
	}
}

// parkedHolder: two goroutines on one mutex. The holder parks while it holds the mutex.
func parkedHolder() {
	var mu sync.Mutex
	go func() {
		for {
			mu.Lock()
			time.Sleep(pause)
			mu.Unlock()
		}
	}()
	go func() {
		for {
			mu.Lock()
			mu.Unlock()
			time.Sleep(time.Millisecond)
		}
	}()
}

// fullPipe: a goroutine that writes to a pipe, which another empties from time to time.
func fullPipe() {
	var ends [2]int
	must(syscall.Pipe(ends[:]))
	go func() {
		buf := make([]byte, 1<<20)
		for {
			time.Sleep(pause)
			syscall.Read(ends[0], buf)
		}
	}()
	go func() {
		buf := make([]byte, 4096)
		for {
			syscall.Write(ends[1], buf)
		}
	}()
}

// connect: a goroutine that connects to a server which never accepts. Once the server's backlog is
// full, a connection takes minutes.
func connect() {
	server := tcpSocket()
	must(syscall.Bind(server, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(syscall.Listen(server, 0))
	address, err := syscall.Getsockname(server)
	must(err)
	go func() {
		for {
			must(syscall.Connect(tcpSocket(), address))
		}
	}()
}

func tcpSocket() int {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	must(err)
	return socket
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func lookUp() {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(err)
	port := server.LocalAddr().(*net.UDPAddr).Port
	go func() {
		defer server.Close()
		for {
			start := time.Now()
			if C.look_up(C.ushort(port)) == 0 || time.Since(start) < pause {
				panic("something else knew that there is no such name")
			}
		}
	}()
}

// deferInPanic computes in a deferred function during a panic.
func deferInPanic() {
	defer func() {
		for {
		}
	}()
	panic("computes")
}

// handler computes in a C signal handler, again and again.
func handler() {
	C.handle_by_computing()
	for {
		C.raise_sigusr1()
	}
}

// hogs measures how many processors many loops use.
func hogs() {
	loops(manyHogs)
	time.Sleep(pause)
	start, before := time.Now(), cpuTime()
	time.Sleep(2 * time.Second)
	report("hogs", (cpuTime()-before)/float64(time.Since(start).Nanoseconds()), "processors")
}

// library measures how long 40 HTTP calls take from a server that takes 50 ms for each, and the
// largest lateness of a ticker meanwhile.
func library() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(50 * time.Millisecond)
		io.WriteString(w, "hello")
	}))
	var done atomic.Bool
	late := make(chan []float64)
	go func() { late <- lateness(func(int) bool { return !done.Load() }) }()
	time.Sleep(25 * time.Millisecond)
	var running sync.WaitGroup
	start := time.Now()
	for range 40 {
		running.Add(1)
		go func() {
			answer, err := http.Get(fmt.Sprintf("http://%s/", listener.Addr()))
			must(err)
			text, err := io.ReadAll(answer.Body)
			must(err)
			check("library", len(text), len("hello"))
			running.Done()
		}()
	}
	running.Wait()
	report("library", float64(time.Since(start).Nanoseconds()), "ns")
	done.Store(true)
	report("library_late", quantile(<-late, 1), "ns")
}
