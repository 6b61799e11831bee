package main

func main() {
	go func() { select {} }()
	select {}
}
