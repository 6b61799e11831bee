package main

// The predeclared functions write to stderr; only the exit status is compared, and that it ends.
func main() {
	println("to stderr", 1, true, 2.5)
	print("one line\n")
}
