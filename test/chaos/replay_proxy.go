package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// A proxy stands between the command and the server. It counts the messages in the calls of
// the command's process, and does something at one of them: so a process is killed at a chosen
// message, however slow the machine is.
type proxy struct {
	url  string
	http *http.Server
	next *httputil.ReverseProxy
	done chan struct{}

	mu       sync.Mutex
	messages map[string]int // in the calls of each operation
	calls    map[string]int // of each operation
	blow     *blow
}

// A blow is what happens to the process, at the nth message of an operation's calls.
type blow struct {
	operation string
	nth       int
	// answered says that the server does the call first, and the process misses the answer.
	// Else the server never sees the call.
	answered bool
	strike   func()
	struck   bool
}

func newProxy(server string) (_ *proxy, err error) {
	defer must.Return(&err)
	target := must.Get(url.Parse(server))
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	p := &proxy{url: "http://" + listener.Addr().String(), done: make(chan struct{}), messages: map[string]int{}, calls: map[string]int{}}
	p.next = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:       log.New(io.Discard, "", 0), // a process that is killed leaves calls behind
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) {},
		ModifyResponse: func(r *http.Response) error { p.pass(operation(r.Request), true); return nil },
	}
	p.http = &http.Server{Handler: p, ErrorLog: p.next.ErrorLog}
	go func() { defer close(p.done); _ = p.http.Serve(listener) }() // until close
	return p, nil
}

func (p *proxy) close() {
	_ = p.http.Close()
	<-p.done
}

// arm forgets the process before.
func (p *proxy) arm(b *blow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages, p.calls, p.blow = map[string]int{}, map[string]int{}, b
}

// struck reports whether the blow has fallen.
func (p *proxy) struck() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blow != nil && p.blow.struck
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := operation(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // a process that is killed breaks off
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.mu.Lock()
	p.calls[op]++
	p.messages[op] += bytes.Count(body, []byte(`"Id":"`)) // in a string it would have backslashes
	p.mu.Unlock()
	if p.pass(op, false) {
		panic(http.ErrAbortHandler) // the process is gone, and so is its call
	}
	p.next.ServeHTTP(w, r)
}

func operation(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
}

// pass strikes if it is time to, and reports whether it did.
func (p *proxy) pass(op string, answered bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.blow
	if b == nil || b.struck || b.operation != op || b.answered != answered || p.messages[op] < b.nth {
		return false
	}
	b.struck = true
	b.strike()
	return true
}
