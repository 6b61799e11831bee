// A chat server. Each client has one goroutine that reads and one that writes, and all lines go
// through the room. The server tells a client that has been silent for too long so, and drops it.
// SIGTERM ends the server. The clients are in the same program, which sends itself the signal at
// the end.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	var servers sync.WaitGroup
	start := func(idle time.Duration) net.Addr {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		servers.Go(func() { serve(ctx, listener, idle) })
		return listener.Addr()
	}
	// Two servers: the strict one drops a silent client soon, and the lenient one gives time to
	// clients that talk, also on a slow machine.
	strict, addr := start(10*time.Millisecond), start(time.Minute)

	silent, err := net.Dial("tcp", strict.String())
	if err != nil {
		log.Fatal(err)
	}
	told, err := io.ReadAll(silent)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("who is silent reads: %s", told)

	ada := client(addr, "ada", map[string]string{"bob has come": "hello, bob", "bob: hello, ada": "good night"})
	fmt.Println("ada reads:", <-ada)
	bob := client(addr, "bob", map[string]string{"ada: hello, bob": "hello, ada", "ada: good night": "/quit"})
	for line := range bob {
		fmt.Println("bob reads:", line)
	}
	for range 5 {
		fmt.Println("ada reads:", <-ada)
	}

	syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
	<-signals
	fmt.Println("SIGTERM has come")
	cancel()
	for line := range ada {
		fmt.Println("ada reads:", line)
	}
	servers.Wait()
	fmt.Println("the servers have stopped")
}

// client returns the lines that a client reads; answers has the client's answers to some of these
// lines.
func client(addr net.Addr, name string, answers map[string]string) <-chan string {
	read := make(chan string, 16)
	go func() {
		defer close(read)
		conn, err := net.Dial("tcp", addr.String())
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintln(conn, name)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if answer, ok := answers[lines.Text()]; ok {
				fmt.Fprintln(conn, answer)
			}
			read <- lines.Text()
		}
	}()
	return read
}

// A room receives all lines, and passes them on.
type room struct {
	come, leave chan chan<- string
	say         chan string
}

// serve serves until the context has ended, each client has been told, and all goroutines have
// ended.
func serve(ctx context.Context, listener net.Listener, idle time.Duration) {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	r := room{make(chan chan<- string), make(chan chan<- string), make(chan string)}
	closed, kept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(kept)
		r.keep(closed)
	}()
	var clients sync.WaitGroup
	for {
		conn, err := listener.Accept()
		if err != nil {
			break
		}
		clients.Go(func() { r.talk(ctx, conn, idle) })
	}
	clients.Wait()
	close(closed)
	<-kept
}

func (r *room) keep(closed <-chan struct{}) {
	members := map[chan<- string]bool{}
	for {
		select {
		case member := <-r.come:
			members[member] = true
		case member := <-r.leave:
			delete(members, member)
		case line := <-r.say:
			for member := range members {
				// The room waits for nobody: a client that doesn't read misses lines.
				select {
				case member <- line:
				default:
				}
			}
		case <-closed:
			return
		}
	}
}

// talk serves a client until it leaves, or has to.
func (r *room) talk(ctx context.Context, conn net.Conn, idle time.Duration) {
	told := make(chan string, 16)
	var writing sync.WaitGroup
	writing.Go(func() {
		defer conn.Close()
		for line := range told {
			conn.SetWriteDeadline(time.Now().Add(idle))
			fmt.Fprintln(conn, line)
		}
	})
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(0, 0)) })()
	err := r.listen(ctx, conn, idle, told)
	switch {
	case ctx.Err() != nil:
		told <- "the server stops"
	case errors.Is(err, os.ErrDeadlineExceeded):
		told <- "you were silent for too long"
	default:
		told <- "good-bye"
	}
	close(told)
	writing.Wait()
}

// listen passes a client's arrival, the lines that follow its name, and its leaving on to the room.
func (r *room) listen(ctx context.Context, conn net.Conn, idle time.Duration, told chan<- string) error {
	lines := bufio.NewScanner(conn)
	next := func() bool {
		conn.SetReadDeadline(time.Now().Add(idle))
		// The context may have ended the wait before this deadline was set.
		return ctx.Err() == nil && lines.Scan() && lines.Text() != "/quit"
	}
	if !next() {
		return lines.Err()
	}
	name := lines.Text()
	r.come <- told
	r.say <- name + " has come"
	for next() {
		r.say <- name + ": " + lines.Text()
	}
	r.leave <- told
	r.say <- name + " has left"
	return lines.Err()
}
