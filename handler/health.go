package handler

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/longpoll"
)

// A healthServer serves one address. All Polls of the process with that HealthAddr
// share it: one process has one health.
type healthServer struct {
	polls  []*healthOf // in the order in which they began
	mux    atomic.Pointer[http.ServeMux]
	server *http.Server
	served chan struct{}
}

// healthOf is what one Poll has served.
type healthOf struct {
	pollers  []*longpoll.Poller
	handlers map[string]http.Handler
}

var (
	healthMu      sync.Mutex
	healthServers = map[string]*healthServer{} // by address
)

// serveHealth answers orchestrators and scrapers, if an address is configured,
// until stop is called. It returns warnings as well.
func (c *PollConfig) serveHealth(pollers []*longpoll.Poller) (stop func(), odd []string, err error) {
	if c.HealthAddr == "" {
		return func() {}, nil, nil
	}
	healthMu.Lock()
	defer healthMu.Unlock()
	s := healthServers[c.HealthAddr]
	if s == nil {
		listener, err := net.Listen("tcp", c.HealthAddr)
		if err != nil {
			return nil, nil, fmt.Errorf("handler: HealthAddr is %q (SQSBATCH_HEALTH_ADDR): %w", c.HealthAddr, err)
		}
		s = &healthServer{served: make(chan struct{})}
		answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.mux.Load().ServeHTTP(w, r) })
		s.server = &http.Server{Handler: answer, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
		healthServers[c.HealthAddr] = s
		defer func() {
			go func() {
				defer close(s.served)
				_ = s.server.Serve(listener) // until Close
			}()
		}()
	}
	mine := &healthOf{pollers, c.Handlers}
	s.polls = append(s.polls, mine)
	return func() {
		healthMu.Lock()
		defer healthMu.Unlock()
		s.polls = slices.DeleteFunc(s.polls, func(h *healthOf) bool { return h == mine })
		if len(s.polls) > 0 {
			s.route()
			return
		}
		delete(healthServers, c.HealthAddr)
		_ = s.server.Close()
		<-s.served
	}, s.route(), nil
}

// route has everything answered that the Polls want served. Of a path that several
// of them have, the handler of the first is asked; the others' are in the warnings.
func (s *healthServer) route() (odd []string) {
	mux, seen := http.NewServeMux(), map[string]bool{}
	var pollers []*longpoll.Poller
	for _, h := range s.polls {
		pollers = append(pollers, h.pollers...)
		for _, path := range slices.Sorted(maps.Keys(h.handlers)) {
			if seen[path] {
				odd = append(odd, fmt.Sprintf("Poll.Handlers[%q]: an earlier Poll of this process serves that path at the same HealthAddr, and goes on to", path))
				continue
			}
			seen[path] = true
			mux.Handle(path, h.handlers[path])
		}
	}
	mux.Handle("/", longpoll.Health(pollers...))
	s.mux.Store(mux)
	return odd
}

// checkHandlers is about what http.ServeMux would panic at, or serve in place of
// the health checks.
func (c *PollConfig) checkHandlers() (wrong mistakes) {
	for _, path := range slices.Sorted(maps.Keys(c.Handlers)) {
		var err error
		switch {
		case !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsAny(path, "{} \t"):
			err = errors.New(`must be a path below /, like "/metrics"`)
		case path == "/livez" || path == "/readyz" || path == "/statusz":
			err = errors.New("is the health check's own path")
		case c.Handlers[path] == nil:
			err = errors.New("is nil, must be an http.Handler")
		}
		if err != nil {
			wrong.add(fmt.Errorf("handler: Poll.Handlers[%q] %w", path, err))
		}
	}
	return wrong
}

// unserved is a warning, or none.
func (c *PollConfig) unserved() []string {
	if len(c.Handlers) == 0 || c.HealthAddr != "" {
		return nil
	}
	return []string{fmt.Sprintf("%s: served nowhere, since Poll.HealthAddr is empty (SQSBATCH_HEALTH_ADDR)", strings.Join(slices.Sorted(maps.Keys(c.Handlers)), ", "))}
}
