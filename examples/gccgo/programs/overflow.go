package main

import "runtime/debug"

func f(n int) int { return f(n+1) + n }

func main() {
	debug.SetMaxStack(1 << 18)
	println(f(0))
}
