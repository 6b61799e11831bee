package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"sync"
)

// Redis-like servers, as in src/resp.rs and src/bin/gosched/resp.rs.

var store struct {
	sync.Mutex
	values map[string][]byte
}

func resps() {
	store.values = map[string][]byte{}
	for _, workload := range []struct {
		name                  string
		connections, pipeline int
	}{{"resp50", 50, 1}, {"resp50_16", 50, 16}, {"resp1000", 1_000, 1}, {"resp1000_16", 1_000, 16}} {
		if names(workload.name) {
			redisBenchmark(workload.name, serve(resp), workload.connections, workload.pipeline)
		}
	}
}

func resp(conn net.Conn) {
	chunk, input, output := make([]byte, 16<<10), []byte(nil), []byte(nil)
	for {
		n, err := conn.Read(chunk)
		if err != nil {
			return
		}
		input = append(input, chunk[:n]...)
		done := 0
		for {
			words, length := request(input[done:])
			if length == 0 {
				break
			}
			output = execute(words, output)
			done += length
		}
		input = input[:copy(input, input[done:])]
		if _, err := conn.Write(output); err != nil {
			return
		}
		output = output[:0]
	}
}

// request returns the words of the request at the front of input, and its length in bytes: 0 if the
// request isn't complete.
func request(input []byte) ([][]byte, int) {
	count, at := number(input, 0)
	if at == 0 {
		return nil, 0
	}
	words := make([][]byte, 0, count)
	for range count {
		length, start := number(input, at)
		at = start + length + 2
		if start == 0 || at > len(input) {
			return nil, 0
		}
		words = append(words, input[start:start+length])
	}
	return words, at
}

// number returns the number in the line at this place, and where the next line begins: 0 if the line
// isn't complete.
func number(input []byte, at int) (int, int) {
	end := bytes.Index(input[at:], []byte("\r\n"))
	if end < 0 {
		return 0, 0
	}
	n, err := strconv.Atoi(string(input[at+1 : at+end]))
	if err != nil {
		panic(err)
	}
	return n, at + end + 2
}

func execute(words [][]byte, output []byte) []byte {
	switch {
	case len(words) == 3 && string(words[0]) == "SET":
		store.Lock()
		store.values[string(words[1])] = bytes.Clone(words[2])
		store.Unlock()
		return append(output, "+OK\r\n"...)
	case len(words) == 2 && string(words[0]) == "GET":
		store.Lock()
		value, ok := store.values[string(words[1])]
		store.Unlock()
		if !ok {
			return append(output, "$-1\r\n"...)
		}
		output = fmt.Appendf(output, "$%d\r\n", len(value))
		return append(append(output, value...), "\r\n"...)
	}
	return append(output, "-ERR unknown command\r\n"...)
}

func redisBenchmark(workload string, server string, connections, pipeline int) {
	requests := 200_000
	if pipeline > 1 {
		requests = 2_000_000
	}
	_, port, _ := net.SplitHostPort(server)
	before := cpuTime()
	output, err := exec.Command("redis-benchmark", "-h", "127.0.0.1", "-t", "set,get", "--csv", "-r", "10000",
		"-p", port, "-c", fmt.Sprint(connections), "-P", fmt.Sprint(pipeline), "-n", fmt.Sprint(requests)).Output()
	if err != nil {
		panic(err)
	}
	cpu := cpuTime() - before
	rows, err := csv.NewReader(bytes.NewReader(output)).ReadAll()
	if err != nil || len(rows) != 3 {
		panic(fmt.Sprint(err, rows))
	}
	var time, p99 float64
	for _, row := range rows[1:] {
		perSecond, _ := strconv.ParseFloat(row[1], 64)
		milliseconds, _ := strconv.ParseFloat(row[6], 64)
		time += 1e9 / perSecond / 2
		p99 += milliseconds * 1e6 / 2
	}
	report(workload, time, "ns/op")
	report(workload+"_cpu", cpu/float64(2*requests), "ns/op")
	report(workload+"_p99", p99, "ns")
}
