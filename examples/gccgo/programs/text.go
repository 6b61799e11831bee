package main

import (
	"fmt"
	"strconv"
	"strings"
)

func main() {
	s := "grüße, 世界"
	for i, r := range s {
		fmt.Print(i, ":", string(r), " ")
	}
	fmt.Println(len(s), []rune(s)[2], []byte(s)[:4], string([]rune{0x4e16, 'x'}))
	var b strings.Builder
	for i := 0; i < 1000; i++ {
		b.WriteString(strconv.Itoa(i))
	}
	fmt.Println(b.Len(), strings.Count(b.String(), "99"), strings.ToUpper("abc")+"d"+s[:2])
	fmt.Println(strings.Fields(" a b  c "), strings.Split("a,b,c", ","), strings.Repeat("ab", 3))
	f, err := strconv.ParseFloat("1e-3", 64)
	_, bad := strconv.Atoi("12x")
	fmt.Println(f, err, bad, "a" < "b", s == "x")
}
