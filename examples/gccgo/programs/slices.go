package main

import "fmt"

func main() {
	var s []int
	for i := 0; i < 3000; i++ {
		s = append(s, i)
	}
	t := append([]int(nil), s[10:20]...)
	copy(s[5:], s[:10])
	fmt.Println(len(s), t, s[:16], cap(s) >= 3000)
	grid := make([][]string, 3)
	for i := range grid {
		grid[i] = make([]string, i+1)
		for j := range grid[i] {
			grid[i][j] = fmt.Sprint(i, "/", j)
		}
	}
	fmt.Println(grid, len(grid[2][:1:2]), cap(grid[2][:1:2]))
	array := [5]int{1, 2, 3, 4, 5}
	other := array
	other[2] = 30
	fmt.Println(array, other, array == other)
}
