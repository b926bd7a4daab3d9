package main

import (
	"context"
	"encoding/json"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/sqsbatch/sqsbatch/batch"
)

// serveProbe answers what only the worker itself knows of what it uses, and serves its profiles.
func serveProbe(address string) {
	http.HandleFunc("GET /sample", func(w http.ResponseWriter, _ *http.Request) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		_ = json.NewEncoder(w).Encode(sample{Goroutines: float64(runtime.NumGoroutine()), Heap: float64(live[0].Value.Uint64()) / (1 << 20)})
	})
	fatal(http.ListenAndServe(address, nil))
}

// leaks are what -leak may name.
var leaks = []string{"goroutine", "descriptor", "memory"}

// leaking is h with a deliberate leak for each 1,000th message.
func leaking(h batch.Handler, kind string) batch.Handler {
	var n atomic.Int64
	var kept sync.Map // nothing is ever deleted
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		if n := n.Add(1); n%1000 == 0 {
			switch kind {
			case "goroutine":
				go func() { <-make(chan struct{}) }()
			case "descriptor":
				f, err := os.Open(os.DevNull)
				if err != nil {
					return err
				}
				kept.Store(n, f)
			case "memory": // 100 bytes a message
				kept.Store(n, make([]byte, 100_000))
			}
		}
		return h.Handle(ctx, r)
	})
}
