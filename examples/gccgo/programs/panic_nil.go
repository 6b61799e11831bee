package main

type t struct{ v *int }

func main() {
	var p *t
	println(*p.v)
}
