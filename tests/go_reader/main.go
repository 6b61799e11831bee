// The program reads gosched's execution traces with Go's own reader. It is built inside a copy of
// Go's sources, because it imports a package that is internal to Go.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"internal/trace"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
)

const usage = `usage:
  reader cut SEED FILE...       reads each file as a whole, and cut off at places that SEED chooses
  reader verdicts FILE          reads the mutations that the suite has written, and compares which are accepted
  reader course TRACE MEASURED  compares a trace's summary with what the program has measured`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) > 2 && args[0] == "cut":
		seed, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return err
		}
		return cut(rand.New(rand.NewPCG(seed, 0)), args[2:])
	case len(args) == 2 && args[0] == "verdicts":
		return verdicts(args[1])
	case len(args) == 3 && args[0] == "course":
		return course(args[1], args[2])
	}
	return errors.New(usage)
}

// read returns the number of events in each generation, up to the end of the trace or the first
// error.
func read(data []byte) (counts []int, err error) {
	reader, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for {
		event, err := reader.ReadEvent()
		if err == io.EOF {
			return counts, nil
		}
		if err != nil {
			return counts, err
		}
		if event.Kind() == trace.EventSync {
			counts = append(counts, 0)
		} else {
			counts[len(counts)-1]++
		}
	}
}

// cut fails unless each file can be read. It then cuts the file off at random places, and fails
// unless the reader still finds all generations that are whole.
func cut(random *rand.Rand, paths []string) error {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		counts, err := read(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for range 3 {
			length := random.IntN(len(data))
			whole := generationsIn(data[:length])
			// A sync event stands before each generation, and another one behind the last.
			some, err := read(data[:length])
			if length >= 16 && len(some) <= whole {
				return fmt.Errorf("%s, cut at %d: %d generations of %d: %v", path, length, len(some), whole, err)
			}
			for i := range whole {
				if some[i] != counts[i] {
					return fmt.Errorf("%s, cut at %d: %d events of %d: %v", path, length, some[i], counts[i], err)
				}
			}
		}
	}
	return nil
}

// generationsIn returns the number of whole generations: those behind which another one begins.
func generationsIn(data []byte) int {
	whole, last := 0, uint64(0)
	for rest := data[min(16, len(data)):]; len(rest) > 0; {
		rest = rest[1:]
		var header [4]uint64
		for i := range header {
			number, n := binary.Uvarint(rest)
			if n <= 0 {
				return whole
			}
			header[i], rest = number, rest[n:]
		}
		generation, size := header[0], header[3]
		if uint64(len(rest)) < size {
			return whole
		}
		if last != 0 && generation != last {
			whole++
		}
		last, rest = generation, rest[size:]
	}
	return whole
}

// verdicts fails if Go's reader accepts a mutation that the suite's reader refuses, or the reverse.
func verdicts(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	taken, refused := 0, 0
	for len(data) > 0 {
		length := binary.LittleEndian.Uint32(data[1:5])
		_, err := read(data[5 : 5+length])
		if is, was := err == nil, data[0] == 1; is != was {
			return fmt.Errorf("mutation %d: Go's reader accepts it: %v; the suite's: %v: %v", taken+refused, is, was, err)
		}
		if err == nil {
			taken++
		} else {
			refused++
		}
		data = data[5+length:]
	}
	if refused == 0 {
		return errors.New("there are no mutations")
	}
	fmt.Printf("of %d mutations, both readers refuse %d\n", taken+refused, refused)
	return nil
}
