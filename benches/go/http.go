package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// HTTP servers, as in src/http.rs and examples/http.rs.

func https() {
	for _, workload := range []struct {
		name        string
		connections int
		wait        time.Duration
	}{
		{"http100", 100, 0}, {"http5000", 5_000, 0}, {"hyper50", 50, 0}, {"hyper500", 500, 0},
		{"hyper50_wait", 50, 5 * time.Millisecond}, {"hyper500_wait", 500, 5 * time.Millisecond},
	} {
		if !names(workload.name) {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(workload.wait)
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "Hello, world!\n")
		}))
		wrk(workload.name, listener.Addr().String(), workload.connections)
	}
}

func wrk(workload string, server string, connections int) {
	before := cpuTime()
	output, err := exec.Command("wrk", "--threads", "1", "--duration", "3s", "--latency",
		"--connections", fmt.Sprint(connections), "http://"+server+"/").Output()
	if err != nil {
		panic(err)
	}
	cpu := cpuTime() - before
	words := strings.Fields(string(output))
	at := func(word string, offset int) string {
		for i, w := range words {
			if w == word {
				return words[i+offset]
			}
		}
		panic(word)
	}
	requests, _ := strconv.ParseFloat(at("requests", -1), 64)
	perSecond, _ := strconv.ParseFloat(at("Requests/sec:", 1), 64)
	p99, err := time.ParseDuration(at("99%", 1))
	if err != nil {
		panic(err)
	}
	report(workload, 1e9/perSecond, "ns/op")
	report(workload+"_cpu", cpu/requests, "ns/op")
	report(workload+"_p99", float64(p99.Nanoseconds()), "ns")
}
