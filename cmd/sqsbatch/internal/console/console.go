// Package console serves a web page about a run of the emulators: the queues, what becomes of
// each message, and why one does not move.
//
//	c, err := console.Listen(console.Options{Addr: "127.0.0.1:0"})
//	…
//	defer c.Close()
//	server, err := sqs.Serve(addr, sqs.Config{Observe: c.Observe(nil), ObserveCall: c.ObserveCall(nil)})
//	…
//	c.Serve(console.Run{Server: server})
//
// model.go keeps what the emulators tell, why.go explains it, pages.go is what each page shows,
// act.go is what its buttons do, and page/ has the templates, the script and the styles. record.go
// writes the entries of the model to a file, and play.go shows such a file in place of a run. The
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
	record  *recorder     // nil: nothing is recorded
	play    *player       // nil: what happens now is shown
	changed chan struct{} // closed at the next change
	version int           // of the model
}

// A Run is what the page is about.
type Run struct {
	About
	Server *sqs.Server
	Kill   func() int // kills the function's processes, and returns their number
	// Sample is a body that the form to send suggests, for the queue Source. "" for none.
	Sample, Source string
}

// About is what there is to know of a run when it begins.
type About struct {
	// Function is the function's name, "" if there is none, as for `sqsbatch sqs`. The others are
	// about it.
	Function string
	Timeout  time.Duration
	Lambda   bool      // it runs in invocations
	Settings []Setting // of the function and its event
	Findings []Finding // of lint
}

// A Setting is a line of the board.
type Setting struct{ Name, Value string }

// A Finding is a finding of lint.
type Finding struct{ Rule, Severity, Place, Message string }

// Options are the flags of a console.
type Options struct {
	Addr   string // where the page listens, "" for no page
	Record string // the file of the recording, "" for none
}

const anyPort = "127.0.0.1:0"

// Flags adds the flags --ui and --record.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.Var(cli.Text(&o.Addr, "HOST:PORT"), "ui", "also serve a web page that shows the queues and what becomes of each message, on loopback only; without an address at a free port")
	f.Lookup("ui").NoOptDefVal = anyPort
	f.Var(cli.Text(&o.Record, "FILE"), "record", "also write what happens to this file, with the bodies of messages, for sqsbatch play")
}

// Listen returns a console that collects, and that will serve its page at o.Addr, which must be on
// loopback: the page shows the messages to anyone who can reach it. It returns nil if o has nothing
// to do: the methods of a nil Console do nothing.
func Listen(o Options) (*Console, error) {
	if o == (Options{}) {
		return nil, nil
	}
	c := newConsole()
	var err error
	if c.listener, err = listen(o.Addr); err != nil {
		return nil, err
	}
	if o.Record != "" {
		if c.record, err = newRecorder(o.Record); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// listen listens at an address, with "" at none.
func listen(addr string) (net.Listener, error) {
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
	return listener, nil
}

func newConsole() *Console {
	c := &Console{model: newModel(), changed: make(chan struct{})}
	c.ended, c.end = context.WithCancel(context.Background())
	return c
}

// Observe returns the emulator's Config.Observe, which also calls next if that is not nil.
func (c *Console) Observe(next func(sqs.Event)) func(sqs.Event) {
	return both(c, func(e sqs.Event) { c.tell(entry{e.Time, e}) }, next)
}

// ObserveCall returns the emulator's Config.ObserveCall, which also calls next if that is not nil.
func (c *Console) ObserveCall(next func(sqs.Call)) func(sqs.Call) {
	return both(c, func(call sqs.Call) {
		c.tell(entry{call.Ended, call})
		switch call.Operation {
		case "CreateQueue", "SetQueueAttributes", "DeleteQueue":
			c.tellQueues(call.Ended)
		}
	}, next)
}

// both returns a function that tells the console, and calls next. Without a console it is next.
func both[T any](c *Console, tell, next func(T)) func(T) {
	if c == nil {
		return next
	}
	return func(v T) {
		tell(v)
		if next != nil {
			next(v)
		}
	}
}

// Event takes an event of the function. Without a console it does nothing.
func (c *Console) Event(e track.Event) {
	if c != nil {
		c.tell(entry{time.Now(), e})
	}
}

func (c *Console) tell(e entry) {
	c.change(func() {
		c.model.apply(e)
		c.record.add(e)
	})
}

// tellQueues records which queues there are. c must not be locked, see look.
func (c *Console) tellQueues(at time.Time) {
	c.mu.Lock()
	server, recorded := c.run.Server, c.record != nil
	c.mu.Unlock()
	if server == nil || !recorded {
		return
	}
	var list queueList
	for _, q := range server.Queues() {
		list = append(list, listedQueue{q.Name, q.Attributes, q.Paused})
	}
	c.tell(entry{at, list})
}

// change makes a change, and tells the browsers of it.
func (c *Console) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.version++
	close(c.changed)
	c.changed = make(chan struct{})
}

// Serve begins to answer.
func (c *Console) Serve(run Run) {
	if c == nil {
		return
	}
	c.mu.Lock() // calls may come already
	c.run = run
	c.mu.Unlock()
	if c.play == nil {
		c.tell(entry{time.Now(), run.About})
		c.tellQueues(time.Now())
	}
	if c.listener == nil {
		return
	}
	c.http = &http.Server{Handler: guard(c.routes()), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	c.served.Go(func() { _ = c.http.Serve(c.listener) }) // it returns when it is closed
}

// URL returns the page's address, "" without a page.
func (c *Console) URL() string {
	if c == nil || c.listener == nil {
		return ""
	}
	return "http://" + c.listener.Addr().String() + "/"
}

// Close ends all requests and the recording. An error is that of the recording. It may be called
// twice.
func (c *Console) Close() error {
	if c == nil {
		return nil
	}
	c.end()
	if c.http != nil {
		_ = c.http.Close() // of the listener, which is of no use any more
	} else if c.listener != nil {
		_ = c.listener.Close()
	}
	c.served.Wait()
	c.sending.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.record.close()
	c.record = nil
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
	mux.HandleFunc("GET /dead-letters", c.deadPage)
	mux.HandleFunc("POST /bodies", c.showBodies)
	if c.run.Kill != nil {
		mux.HandleFunc("POST /kill", c.kill)
	}
	if c.run.Server != nil {
		mux.HandleFunc("POST /queues/{name}/pause", c.pause)
		mux.HandleFunc("POST /queues/{name}/send", c.send)
		mux.HandleFunc("POST /queues/{name}/purge", c.purge)
		mux.HandleFunc("POST /queues/{name}/replay", c.replay)
		mux.HandleFunc("POST /faults", c.inject)
		mux.HandleFunc("POST /faults/clear", c.clearFaults)
	} else {
		mux.HandleFunc("POST /play", c.playing)
	}
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
