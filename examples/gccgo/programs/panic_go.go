package main

func main() {
	go func() { panic(fail{7}) }()
	select {}
}

type fail struct{ code int }

func (f fail) Error() string { return "failed: code 7" }
