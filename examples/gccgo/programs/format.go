package main

import (
	"errors"
	"fmt"
	"os"
)

type point struct{ X, Y int }

func (p point) String() string { return fmt.Sprintf("<%d,%d>", p.X, p.Y) }

type plain struct {
	A int
	B []string
	C map[string]int
	D *int
}

func main() {
	fmt.Printf("%v %+v %d %x %08.3f %-6s| %6d %t %c %U %e\n", point{1, 2}, point{3, 4}, 5, 255, 3.14159, "ab", 42, true, 'x', 'y', 12345.678)
	fmt.Printf("%v %+v %#v %T\n", plain{A: 1}, plain{B: []string{"x"}}, []int{1}, plain{})
	err := fmt.Errorf("outer: %w", os.ErrNotExist)
	fmt.Println(err, errors.Is(err, os.ErrNotExist), errors.Unwrap(err) == os.ErrNotExist)
	var a, b int
	n, _ := fmt.Sscanf("7 8", "%d %d", &a, &b)
	fmt.Println(n, a+b, fmt.Sprintf("%!", 1), fmt.Sprintf("%d", "s"))
	fmt.Println(1e100, float32(0.1), 1<<62, uint8(200), complex(1, -2), nil, []interface{}{1, "a", nil})
}
