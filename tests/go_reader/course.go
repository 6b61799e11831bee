package main

import (
	"bufio"
	"fmt"
	"internal/trace"
	"io"
	"math"
	"os"
	"strings"
)

// course fails unless the summary of a trace agrees with what the program has measured itself. A
// line of the measurements is a name, a tab, and the least and the most that the value may be. All
// values are of goroutines that have a name of their own.
func course(path, measured string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	says, err := summarize(file)
	if err != nil {
		return err
	}
	lines, err := os.Open(measured)
	if err != nil {
		return err
	}
	defer lines.Close()
	wrong := 0
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		fields := strings.Split(scanner.Text(), "\t")
		var least, most float64
		if _, err := fmt.Sscan(fields[1], &least, &most); err != nil {
			return err
		}
		value := says[fields[0]]
		verdict := "yes"
		// The reader rounds the time of each event to whole nanoseconds.
		slack := 0.01 * math.Abs(least)
		if value < least-slack || value > most+slack {
			wrong++
			verdict = "no"
		}
		fmt.Printf("%-40s %15.0f, measured %15.0f to %15.0f: %s\n", fields[0], value, least, most, verdict)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of them are wrong", wrong)
	}
	return nil
}

// summarize returns the values of Go's summary of a trace, under the names that the program uses in
// its measurements.
func summarize(file io.Reader) (map[string]float64, error) {
	reader, err := trace.NewReader(file)
	if err != nil {
		return nil, err
	}
	summarizer := trace.NewSummarizer()
	type wake struct{ by, of trace.GoID }
	var wakes []wake
	makers := make(map[trace.GoID]trace.GoID)
	for {
		event, err := reader.ReadEvent()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		summarizer.Event(&event)
		if event.Kind() != trace.EventStateTransition {
			continue
		}
		transition := event.StateTransition()
		if transition.Resource.Kind != trace.ResourceGoroutine {
			continue
		}
		from, to := transition.Goroutine()
		switch id := transition.Resource.Goroutine(); {
		case from == trace.GoNotExist:
			makers[id] = event.Goroutine()
		case from == trace.GoWaiting && to != from:
			wakes = append(wakes, wake{event.Goroutine(), id})
		}
	}
	goroutines := summarizer.Finalize().Goroutines
	name := func(id trace.GoID) string {
		if goroutine := goroutines[id]; goroutine != nil {
			return goroutine.Name
		}
		return "nobody"
	}
	says := make(map[string]float64)
	for id, goroutine := range goroutines {
		name := goroutine.Name
		if _, isMade := makers[id]; isMade {
			says["made "+name]++
		}
		if goroutine.EndTime != 0 {
			says["ended "+name]++
		}
		for reason, time := range goroutine.BlockTimeByReason {
			says["waiting "+name+" "+reason] += float64(time)
		}
		says["syscall "+name] += float64(goroutine.SyscallTime + goroutine.SyscallBlockTime)
		for _, region := range goroutine.Regions {
			says["region "+region.Name] += float64(region.TotalTime)
		}
	}
	for id, maker := range makers {
		says["maker "+name(maker)+" of "+name(id)]++
	}
	for _, wake := range wakes {
		says["wakes "+name(wake.by)+" "+name(wake.of)]++
	}
	return says, nil
}
