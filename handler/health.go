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

	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// serveHealth serves the health checks and Poll.Handlers until stop is called. It does nothing
// if no address is configured.
func (p *Poller) serveHealth() (stop func(), err error) {
	cfg := &p.cfg.Poll
	if cfg.HealthAddr == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", cfg.HealthAddr)
	if err != nil {
		return nil, fmt.Errorf("handler: Poll.HealthAddr is %q (SQSBATCH_HEALTH_ADDR): %w. If another Poller of this process has it, give one Poller all queues: see handler.Queues", cfg.HealthAddr, err)
	}
	mux := http.NewServeMux()
	for path, h := range cfg.Handlers {
		mux.Handle(path, h)
	}
	mux.Handle("/", p.Health())
	server := http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until Close
	return func() {
		_ = server.Close()
		serving.Wait()
	}, nil
}

// checkHealth returns errors for paths on which http.ServeMux would panic, and for the paths of
// the health checks.
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

// healthWarnings returns warnings about a health check with another address, and about handlers
// that are not served.
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
