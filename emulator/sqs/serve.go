package sqs

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/webguard"
)

// listener is the socket of a server made by Serve.
type listener struct {
	http        *http.Server
	served      chan error
	connections sync.WaitGroup // goroutines of connections
}

func (l *listener) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		l.connections.Done()
	}
}

// Serve returns a server that listens on addr. With "127.0.0.1:0" it listens on a free
// port, see [Server.URL]. Serve returns an error if addr is in use, or is not a
// loopback address: the emulator checks no credentials. For the same reason it answers
// requests of web pages, and requests for a Host that is neither loopback nor in
// [Config.AllowedHosts], with the HTTP status 403.
func Serve(addr string, o Config) (*Server, error) {
	s := New(o)
	if s.invalid != nil {
		return nil, s.invalid
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("sqs: listen address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("sqs: listen address %q is not a loopback address: use 127.0.0.1, ::1 or localhost", addr)
	}
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("sqs: %w", err)
	}
	// The machine's resolver decides what "localhost" is.
	if at, ok := socket.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(
			fmt.Errorf("sqs: listen address %q is %v here, which is not a loopback address", addr, socket.Addr()),
			socket.Close())
	}
	s.endpoint = "http://" + socket.Addr().String()
	s.listener = &listener{
		http: &http.Server{
			Handler:           http.HandlerFunc(s.guarded),
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
		},
		served: make(chan error, 1),
	}
	s.listener.http.ConnState = s.listener.connState
	go func() { s.listener.served <- s.listener.http.Serve(socket) }()
	return s, nil
}

// guarded is ServeHTTP for requests through the socket. It refuses requests of web pages and for
// unknown hosts.
func (s *Server) guarded(w http.ResponseWriter, r *http.Request) {
	if refusal := webguard.Refusal(r, s.options.AllowedHosts); refusal != "" {
		write(w, r, nil, modelled("AccessDeniedException", "%s", refusal))
		return
	}
	s.ServeHTTP(w, r)
}

// close ends all connections and waits for their goroutines. The server is closed before,
// so that no goroutine waits.
func (l *listener) close() error {
	err := l.http.Close()
	if served := <-l.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	l.connections.Wait()
	return err
}
