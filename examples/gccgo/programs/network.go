package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	for i := 0; i < 3; i++ {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Fprintf(c, "hello %d", i)
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		fmt.Println(string(b))
	}
	l.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "path ", r.URL.Path) }))
	r, err := http.Get(s.URL + "/x")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := io.ReadAll(r.Body)
	fmt.Println(string(b))
	s.Close()
}
