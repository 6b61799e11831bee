package main

func main() {
	var v interface{} = 1
	println(v.(string))
}
