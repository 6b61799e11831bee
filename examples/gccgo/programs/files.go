package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	f, err := os.CreateTemp("", "gccgo")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	fmt.Fprintf(f, "line one\nline two\n")
	f.Seek(0, io.SeekStart)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fmt.Println(strings.ToUpper(lines.Text()))
	}
	f.Close()
	_, err = os.Open("/does/not/exist")
	fmt.Println(err, os.IsNotExist(err))
	r, w, _ := os.Pipe()
	go func() { fmt.Fprint(w, "through a pipe"); w.Close() }()
	all, err := io.ReadAll(r)
	fmt.Println(string(all), err, len(os.Args))
}
