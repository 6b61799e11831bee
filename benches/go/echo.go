package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

// Echo servers, as in src/echo.rs and src/bin/gosched/echo.rs.

func echoes() {
	for _, workload := range []struct {
		name        string
		connections int
	}{{"echo100", 100}, {"echo2000", 2_000}, {"echo5000", 5_000}, {"echo9000", 9_000}} {
		if names(workload.name) {
			clients(workload.name, serve(echo), workload.connections)
		}
	}
	if names("idle_connections") {
		silentClients(serve(echo))
	}
}

func silentClients(server string) {
	const silent = 19_900
	before := memory("VmRSS")
	command := exec.Command(os.Getenv("ECHO_CLIENT"), server, fmt.Sprint(silent), "0")
	stdin, err := command.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := command.Start(); err != nil {
		panic(err)
	}
	bufio.NewScanner(stdout).Scan()
	report("idle_connections", (memory("VmRSS")-before)/silent, "bytes")
	report("idle_connections_threads", status("Threads"), "threads")
	time.Sleep(time.Second)
	cpu := cpuTime()
	time.Sleep(5 * time.Second)
	report("idle_connections_cpu", cpuTime()-cpu, "ns")
	stdin.Close()
	command.Wait()
}

// serve answers connections until the process ends.
func serve(answer func(net.Conn)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				panic(err)
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func echo(conn net.Conn) {
	buf := make([]byte, 64)
	for {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return
		}
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

func clients(workload string, server string, connections int) {
	command := exec.Command(os.Getenv("ECHO_CLIENT"), server, fmt.Sprint(connections), "3000")
	stdout, err := command.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := command.Start(); err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	before := cpuTime()
	lines.Scan()
	cpu := cpuTime() - before
	var trips, took, p99 float64
	if _, err := fmt.Sscan(lines.Text(), &trips, &took, &p99); err != nil {
		panic(err)
	}
	report(workload, took/trips, "ns/op")
	report(workload+"_cpu", cpu/trips, "ns/op")
	report(workload+"_p99", p99, "ns")
}
