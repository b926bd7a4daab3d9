package handler

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/longpoll"
)

// serveHealth answers orchestrators and scrapers, if an address is configured.
func (c *PollConfig) serveHealth(pollers []*longpoll.Poller) (stop func(), err error) {
	if c.HealthAddr == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", c.HealthAddr)
	if err != nil {
		return nil, fmt.Errorf("handler: HealthAddr is %q (SQSBATCH_HEALTH_ADDR): %w", c.HealthAddr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", longpoll.Health(pollers...))
	for path, h := range c.Handlers {
		mux.Handle(path, h)
	}
	server := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until Close
	}()
	return func() {
		_ = server.Close()
		<-served
	}, nil
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
