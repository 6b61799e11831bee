// A supervisor: a goroutine for each process. A process that fails is started again, after a pause
// that doubles each time, until it has failed too often. A context ends all processes and all
// pauses.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// starts is the most times that a process is started.
const starts = 4

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	server := start(ctx, "server", "exec sleep 3600", time.Millisecond)
	patient := start(ctx, "patient", "exit 1", time.Hour)
	flaky := start(ctx, "flaky", "exit $((2 - $1))", time.Millisecond)
	broken := start(ctx, "broken", "exit 3", time.Millisecond)

	fmt.Println(<-server)
	fmt.Println(<-patient)
	fmt.Println(<-patient)
	show(flaky, broken)
	cancel()
	show(server, patient)
	fmt.Println("all have ended")
}

func show(logs ...<-chan string) {
	for _, log := range logs {
		for line := range log {
			fmt.Println(line)
		}
	}
}

// start begins to supervise a process. The channel gets a line for each thing that happens to it.
func start(ctx context.Context, name, script string, pause time.Duration) <-chan string {
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		log := func(line string) { lines <- name + ": " + line }
		if err := supervise(ctx, log, script, pause); err != nil {
			log(err.Error())
		} else {
			log("ends well")
		}
	}()
	return lines
}

// supervise runs a process until it ends well, has failed too often, or the context ends.
func supervise(ctx context.Context, log func(string), script string, pause time.Duration) error {
	for n := range starts {
		log("starts")
		err := exec.CommandContext(ctx, "/bin/sh", "-c", script, "sh", strconv.Itoa(n)).Run()
		if ctx.Err() != nil {
			return fmt.Errorf("is killed: %w", ctx.Err())
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return err
		}
		log(fmt.Sprintf("ends with %d, and has a pause of %d ms", exit.ExitCode(), pause.Milliseconds()))
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return fmt.Errorf("pauses no more: %w", ctx.Err())
		}
	}
	return fmt.Errorf("has failed %d times, and is given up", starts)
}
