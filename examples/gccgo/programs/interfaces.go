package main

import "fmt"

type shape interface{ area() float64 }
type named interface {
	shape
	name() string
}
type square struct{ side float64 }
type circle struct{ r float64 }

func (s square) area() float64  { return s.side * s.side }
func (c *circle) area() float64 { return 3 * c.r * c.r }
func (c *circle) name() string  { return "circle" }

func describe(v interface{}) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case int, int64:
		return fmt.Sprint("number ", v)
	case named:
		return "named " + v.name()
	case shape:
		return fmt.Sprint("shape ", v.area())
	case func() int:
		return fmt.Sprint("func ", v())
	case error:
		return "error " + v.Error()
	}
	return "other"
}

func main() {
	shapes := []shape{square{2}, &circle{1}}
	total := 0.0
	for _, s := range shapes {
		total += s.area()
	}
	fmt.Println(total)
	for _, v := range []interface{}{nil, 1, int64(2), square{3}, &circle{2}, func() int { return 9 }, fmt.Errorf("e"), 'x'} {
		fmt.Println(describe(v))
	}
	_, ok := shapes[0].(named)
	n, ok2 := shapes[1].(named)
	fmt.Println(ok, ok2, n.name(), shapes[0] == shape(square{2}))
	f := shapes[1].area
	fmt.Println(f())
}
