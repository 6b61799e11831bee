package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	out, err := exec.Command("echo", "from", "a child").Output()
	fmt.Printf("%q %v\n", out, err)
	c := exec.Command("tr", "a-z", "A-Z")
	c.Stdin = strings.NewReader("through tr")
	b, err := c.CombinedOutput()
	fmt.Println(string(b), err)
	err = exec.Command("false").Run()
	fmt.Println(err)
	fmt.Println(os.Getenv("HOME") != "", os.Getpid() > 1)
	os.Setenv("X", "y")
	fmt.Println(os.Getenv("X"))
}
