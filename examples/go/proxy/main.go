// A TCP proxy. For each connection there are two goroutines, one for each direction. Each copies
// until the end, and passes the end on.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
)

const connections = 100

// The bytes that all clients have received: their number, and the sum of their checksums.
var received struct {
	bytes, checksum atomic.Uint64
}

func main() {
	server := listen()
	go echo(server)
	proxy := listen()
	var wg sync.WaitGroup
	for n := range connections {
		wg.Go(func() { must(client(n, proxy.Addr())) })
	}
	for range connections {
		conn, err := proxy.Accept()
		must(err)
		wg.Go(func() { must(between(conn.(*net.TCPConn), server.Addr())) })
	}
	wg.Wait()
	fmt.Printf("%d connections, %d bytes each way, checksum %016x\n",
		connections, received.bytes.Load(), received.checksum.Load())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	return listener
}

func dial(addr net.Addr) (*net.TCPConn, error) {
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// echo serves: it sends each client its bytes back.
func echo(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		must(err)
		go copyAndEnd(conn.(*net.TCPConn), conn.(*net.TCPConn))
	}
}

// between connects to the server, and copies in both directions.
func between(client *net.TCPConn, addr net.Addr) error {
	defer client.Close()
	server, err := dial(addr)
	if err != nil {
		return err
	}
	defer server.Close()
	there := make(chan error)
	go func() { there <- copyAndEnd(client, server) }()
	back := copyAndEnd(server, client)
	if err := <-there; err != nil {
		return err
	}
	return back
}

// copyAndEnd copies one direction, and passes its end on. The other direction goes on, unless there
// was an error.
func copyAndEnd(from, to *net.TCPConn) error {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		// The other direction would wait forever.
		from.Close()
		to.Close()
	}
	return err
}

// client sends bytes to the proxy, while it receives them from there.
func client(n int, proxy net.Addr) error {
	sent := randomBytes(n)
	conn, err := dial(proxy)
	if err != nil {
		return err
	}
	defer conn.Close()
	sending := make(chan error, 1)
	go func() {
		_, err := conn.Write(sent)
		if err == nil {
			err = conn.CloseWrite()
		}
		sending <- err
	}()
	back, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	if err := <-sending; err != nil {
		return err
	}
	if !bytes.Equal(back, sent) {
		return fmt.Errorf("connection %d: other bytes came back", n)
	}
	received.bytes.Add(uint64(len(back)))
	received.checksum.Add(checksum(back))
	return nil
}

// randomBytes returns the bytes that client n sends: up to 300 KB, by Marsaglia's xorshift.
func randomBytes(n int) []byte {
	state := uint64(n) + 1
	bytes := make([]byte, n*7919%300_000)
	for i := range bytes {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		bytes[i] = byte(state)
	}
	return bytes
}

// checksum returns the FNV-1a hash.
func checksum(bytes []byte) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for _, b := range bytes {
		hash = (hash ^ uint64(b)) * 0x100000001b3
	}
	return hash
}
