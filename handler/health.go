package handler

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// healthServer serves one address. All calls of Poll with that HealthAddr share it, since a
// process has only one health.
type healthServer struct {
	polls   []*healthOfPoll // in the order in which they began; guarded by healthMu
	server  http.Server
	serving sync.WaitGroup
}

// healthOfPoll is what one call of Poll serves.
type healthOfPoll struct {
	pollers  []*longpoll.Poller
	handlers map[string]http.Handler
}

var (
	healthMu      sync.Mutex
	healthServers = map[string]*healthServer{} // by address
)

// serveHealth answers orchestrators and scrapers until stop is called. It does nothing if
// no address is configured.
func (c *PollConfig) serveHealth(pollers []*longpoll.Poller) (stop func(), err error) {
	if c.HealthAddr == "" {
		return func() {}, nil
	}
	healthMu.Lock()
	defer healthMu.Unlock()
	s := healthServers[c.HealthAddr]
	if s == nil {
		listener, err := net.Listen("tcp", c.HealthAddr)
		if err != nil {
			return nil, fmt.Errorf("handler: HealthAddr is %q (SQSBATCH_HEALTH_ADDR): %w", c.HealthAddr, err)
		}
		s = &healthServer{}
		s.server = http.Server{Handler: s, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
		healthServers[c.HealthAddr] = s
		s.serving.Go(func() { _ = s.server.Serve(listener) }) // until Close
	}
	own := &healthOfPoll{pollers, maps.Clone(c.Handlers)}
	s.polls = append(s.polls, own)
	return func() {
		healthMu.Lock()
		defer healthMu.Unlock()
		s.polls = slices.DeleteFunc(s.polls, func(p *healthOfPoll) bool { return p == own })
		if len(s.polls) == 0 {
			delete(healthServers, c.HealthAddr)
			_ = s.server.Close()
			s.serving.Wait()
		}
	}, nil
}

// ServeHTTP serves the health of all calls of Poll, and their handlers. If several handlers
// have the same path, it calls the one of the Poll that began first.
func (s *healthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var pollers []*longpoll.Poller
	handlers := map[string]http.Handler{}
	healthMu.Lock()
	for _, p := range slices.Backward(s.polls) {
		pollers = slices.Concat(p.pollers, pollers)
		maps.Copy(handlers, p.handlers)
	}
	healthMu.Unlock()
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.Handle(path, h)
	}
	mux.Handle("/", longpoll.Health(pollers...))
	mux.ServeHTTP(w, r)
}

// checkHealth refuses paths at which http.ServeMux would panic, and the health checks' own.
func (c *PollConfig) checkHealth() (wrong mistakes) {
	for _, path := range slices.Sorted(maps.Keys(c.Handlers)) {
		var err error
		switch {
		case !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsAny(path, "{} \t"):
			err = errors.New(`must be a path below /, like "/metrics"`)
		case path == "/livez" || path == "/readyz" || path == "/statusz":
			err = errors.New("is the health check's own path")
		case c.Handlers[path] == nil:
			err = errors.New("is nil, must be an http.Handler")
		default:
			continue
		}
		wrong.add(fmt.Errorf("handler: Poll.Handlers[%q] %w", path, err))
	}
	return wrong
}

// healthWarnings returns warnings about a health check that would ask at another address,
// and about handlers that are not served.
func (c *PollConfig) healthWarnings() (list []string) {
	inEnvironment := os.Getenv(settings.HealthAddr.Name)
	_, asked, _ := net.SplitHostPort(inEnvironment)
	_, served, _ := net.SplitHostPort(c.HealthAddr)
	if inEnvironment != "" && asked != served {
		list = append(list, fmt.Sprintf("Poll.HealthAddr is %q, and SQSBATCH_HEALTH_ADDR, which comes after it, is %q: a health check that runs livez must be given the former as argument",
			c.HealthAddr, inEnvironment))
	}
	if len(c.Handlers) > 0 && c.HealthAddr == "" {
		list = append(list, fmt.Sprintf("%s: not served, since Poll.HealthAddr is empty (SQSBATCH_HEALTH_ADDR)",
			strings.Join(slices.Sorted(maps.Keys(c.Handlers)), ", ")))
	}
	return list
}
