// Package console serves a web page about a run of the emulators: the queues, what becomes of
// each message, and why one does not move.
//
//	c, err := console.Listen("127.0.0.1:0")
//	…
//	defer c.Close()
//	server, err := sqs.Serve(addr, sqs.Config{Observe: c.Observe(nil), ObserveCall: c.ObserveCall(nil)})
//	…
//	c.Serve(console.Run{Server: server})
//
// model.go keeps what the emulators tell, why.go explains it, pages.go is what each page shows,
// act.go is what its buttons do, and page/ has the templates, the script and the styles. The
// server writes whole pages. The script only fetches the page again after a change and replaces
// what differs, so a page shows the same without it, and a browser cannot fall behind.
package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/webguard"
)

// A Console collects what happens, and serves the page. It is safe for concurrent use.
type Console struct {
	run      Run
	listener net.Listener
	http     *http.Server
	served   sync.WaitGroup
	sending  sync.WaitGroup // of messages at a rate
	end      context.CancelFunc
	ended    context.Context

	mu      sync.Mutex
	model   *model
	faults  []sqs.Fault   // that the page injected
	changed chan struct{} // closed at the next change
	version int           // of the model
}

// A Run is what the page is about.
type Run struct {
	Server *sqs.Server
	// Function is the function's name, "" if there is none, as for `sqsbatch sqs`. The others are
	// about it.
	Function string
	Timeout  time.Duration
	Lambda   bool       // it runs in invocations
	Kill     func() int // kills its processes, and returns their number
	Settings []Setting  // of the function and its event
	Findings []Finding  // of lint
	// Sample is a body that the form to send suggests, for the queue Source. "" for none.
	Sample, Source string
}

// A Setting is a line of the board.
type Setting struct{ Name, Value string }

// A Finding is a finding of lint.
type Finding struct{ Rule, Severity, Place, Message string }

// Flag adds the flag --ui, which sets addr to where the page listens.
func Flag(f *pflag.FlagSet, addr *string) {
	f.Var(cli.Text(addr, "HOST:PORT"), "ui", "also serve a web page that shows the queues and what becomes of each message, on loopback only; without an address at a free port")
	f.Lookup("ui").NoOptDefVal = "127.0.0.1:0"
}

// Listen returns a console that collects, and that will serve its page at addr, which must be on
// loopback: the page shows the messages to anyone who can reach it. It returns nil if addr is "": the
// methods of a nil Console do nothing.
func Listen(addr string) (*Console, error) {
	if addr == "" {
		return nil, nil
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--ui=%s: %w", addr, err)
	}
	if !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("--ui=%s is not a loopback address, and the page asks for no password: use 127.0.0.1", addr)
	}
	listener, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("--ui=%s: %w", addr, err)
	}
	c := newConsole()
	c.listener = listener
	return c, nil
}

func newConsole() *Console {
	c := &Console{model: newModel(), changed: make(chan struct{})}
	c.ended, c.end = context.WithCancel(context.Background())
	return c
}

// Observe returns the emulator's Config.Observe, which also calls next if that is not nil.
func (c *Console) Observe(next func(sqs.Event)) func(sqs.Event) {
	return both(c, (*model).event, next)
}

// ObserveCall returns the emulator's Config.ObserveCall, which also calls next if that is not nil.
func (c *Console) ObserveCall(next func(sqs.Call)) func(sqs.Call) {
	return both(c, (*model).call, next)
}

// both returns a function that tells the model, and calls next. Without a console it is next.
func both[T any](c *Console, tell func(*model, T), next func(T)) func(T) {
	if c == nil {
		return next
	}
	return func(v T) {
		c.change(func(m *model) { tell(m, v) })
		if next != nil {
			next(v)
		}
	}
}

// Event takes an event of the function. Without a console it does nothing.
func (c *Console) Event(e track.Event) {
	if c == nil {
		return
	}
	now := time.Now()
	c.change(func(m *model) { m.tracked(e, now) })
}

func (c *Console) change(f func(*model)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.model)
	c.version++
	close(c.changed)
	c.changed = make(chan struct{})
}

// Serve begins to answer.
func (c *Console) Serve(run Run) {
	if c == nil {
		return
	}
	c.run = run
	c.http = &http.Server{Handler: guard(c.routes()), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	c.served.Go(func() { _ = c.http.Serve(c.listener) }) // it returns when it is closed
}

// URL returns the page's address, "" without a console.
func (c *Console) URL() string {
	if c == nil {
		return ""
	}
	return "http://" + c.listener.Addr().String() + "/"
}

// Close ends all requests.
func (c *Console) Close() error {
	if c == nil {
		return nil
	}
	if c.end(); c.http == nil {
		return c.listener.Close()
	}
	err := c.http.Close()
	c.served.Wait()
	c.sending.Wait()
	return err
}

//go:embed page
var files embed.FS

func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	for _, name := range []string{"console.js", "console.css", "icon.svg"} {
		mux.Handle("GET /page/"+name, http.FileServerFS(files))
	}
	mux.HandleFunc("GET /changes", c.changes)
	mux.HandleFunc("GET /{$}", c.board)
	mux.HandleFunc("GET /queues/{name}", c.queuePage)
	mux.HandleFunc("GET /messages/{id}", c.messagePage)
	if c.run.Lambda {
		mux.HandleFunc("GET /batches", c.batchesPage)
	} else if c.run.Function != "" {
		mux.HandleFunc("GET /slots", c.slotsPage)
	}
	if c.run.Kill != nil {
		mux.HandleFunc("POST /kill", c.kill)
	}
	mux.HandleFunc("POST /queues/{name}/pause", c.pause)
	mux.HandleFunc("GET /dead-letters", c.deadPage)
	mux.HandleFunc("POST /bodies", c.showBodies)
	mux.HandleFunc("POST /queues/{name}/send", c.send)
	mux.HandleFunc("POST /queues/{name}/purge", c.purge)
	mux.HandleFunc("POST /queues/{name}/replay", c.replay)
	mux.HandleFunc("POST /faults", c.inject)
	mux.HandleFunc("POST /faults/clear", c.clearFaults)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, http.StatusNotFound, errors.New("there is no such page"))
	})
	return mux
}

// guard refuses other web pages, and lets the browser load nothing from elsewhere.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := webguard.Refusal(r, nil); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // no-referrer would make the Origin of forms "null"
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// changesPause is the least time between two events of a browser.
const changesPause = 250 * time.Millisecond

// changes sends a server-sent event after each change, until the browser leaves.
func (c *Console) changes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for {
		c.mu.Lock()
		version, changed := c.version, c.changed
		c.mu.Unlock()
		if _, err := fmt.Fprintf(w, "data: %d\n\n", version); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-c.ended.Done():
			return
		case <-time.After(changesPause):
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-c.ended.Done():
			return
		}
	}
}
