package main

import (
	"fmt"
	"sort"
)

type key struct {
	a int
	b string
}

func main() {
	m := map[string]int{}
	for i := 0; i < 5000; i++ {
		m[fmt.Sprint("key", i%1000)] += i
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	fmt.Println(len(m), keys[0], m[keys[0]], keys[999], m[keys[999]])
	s := map[key]float64{{1, "x"}: 1.5, {2, "y"}: 2.5}
	s[key{1, "x"}]++
	delete(s, key{2, "y"})
	v, ok := s[key{2, "y"}]
	fmt.Println(s, v, ok)
	any := map[interface{}]string{1: "int", "1": "string", 1.5: "float", key{}: "struct"}
	fmt.Println(any[1], any["1"], any[1.5], any[key{}], len(any))
	var none map[int]int
	fmt.Println(none[3], len(none))
	for i := range m {
		delete(m, i)
	}
	fmt.Println(len(m))
}
