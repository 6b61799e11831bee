// A crawler: a goroutine for each page, at most eight at a time, and at most one request each
// millisecond. It ends early at the first error, or after ten seconds. The site is in the same
// program: it has a page for each number below 200, with links to others.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// pages is the number of pages.
const pages = 200

// group is the part of golang.org/x/sync/errgroup that this program needs.
type group struct {
	wg     sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
	slots  chan struct{}
}

func withContext(parent context.Context, limit int) *group {
	ctx, cancel := context.WithCancelCause(parent)
	return &group{ctx: ctx, cancel: cancel, slots: make(chan struct{}, limit)}
}

func (g *group) run(f func() error) {
	g.slots <- struct{}{}
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.cancel(err)
		}
		<-g.slots
	})
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(listener, http.HandlerFunc(serve))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	found, err := crawl(ctx, "http://"+listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d pages, from %d to %d\n", len(found), found[0], found[len(found)-1])
}

// serve answers one request.
func serve(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Path[1:])
	for _, link := range []int{page*2 + 1, page*2 + 2} {
		fmt.Fprintf(w, "<a href=/%d>", link%pages)
	}
}

// A crawler is the state of a crawl.
type crawler struct {
	site string
	rate *time.Ticker
	mu   sync.Mutex
	seen map[int]bool
}

// crawl returns all pages that can be reached from the first.
func crawl(ctx context.Context, site string) ([]int, error) {
	c := &crawler{site: site, rate: time.NewTicker(time.Millisecond), seen: map[int]bool{0: true}}
	for pages := []int{0}; len(pages) > 0; {
		var next []int
		g := withContext(ctx, 8)
		for _, page := range pages {
			g.run(func() error {
				links, err := c.links(g.ctx, page)
				c.mu.Lock()
				defer c.mu.Unlock()
				for _, link := range links {
					if !c.seen[link] {
						c.seen[link] = true
						next = append(next, link)
					}
				}
				return err
			})
		}
		g.wg.Wait()
		if err := context.Cause(g.ctx); err != nil {
			return nil, err
		}
		g.cancel(nil)
		pages = next
	}
	return slices.Sorted(maps.Keys(c.seen)), nil
}

var href = regexp.MustCompile("href=/([0-9]+)")

// links returns the links of a page.
func (c *crawler) links(ctx context.Context, page int) ([]int, error) {
	select {
	case <-c.rate.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	request, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/%d", c.site, page), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	var links []int
	for _, match := range href.FindAllSubmatch(body, -1) {
		link, _ := strconv.Atoi(string(match[1]))
		links = append(links, link)
	}
	return links, err
}
