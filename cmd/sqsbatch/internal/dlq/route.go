package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// routes find the queue that a message goes to: the one of --to; else the queue from which SQS
// moved the message; else the queue that the message itself names, if SQS says that this is its
// dead-letter queue, or --origin confirms it; else the only queue whose dead-letter queue this is.
// Anyone who may send to the dead-letter queue can write what a message names, so no other queue
// is called because of it.
type routes struct {
	account *queue.Account
	from    *queue.Queue
	to      *queue.Queue // of --to, nil without it
	origins []string     // of --origin

	mu    sync.Mutex
	known map[string]*route // by ARN, onlySource or allSources
}

// Keys of routes besides ARNs: the queues whose dead-letter queue this is, and the only one.
const (
	allSources = "all"
	onlySource = ""
)

// A route is a queue, or why it cannot be used, once found is closed. That of allSources has
// their URLs.
type route struct {
	found chan struct{}
	queue *queue.Queue
	urls  []string
	err   error
}

var (
	errNoSource = errors.New("neither SQS nor sqsbatch says where it came from: name a queue with --to")
	errNotARN   = errors.New("the queue that its attribute sqsbatch names is not an ARN: name a queue with --to")
	errItself   = errors.New("it came from this queue itself: name a queue with --to")
)

// An unconfirmedError is the error of a message that names a queue by itself.
type unconfirmedError struct{ arn string }

func (e *unconfirmedError) Error() string {
	return "only the message says that it came from " + e.arn + ", which is not a source of this queue: if it is right, add --origin " + e.arn + ", else name a queue with --to"
}

// routePatience is how long a queue is looked for that messages go to. After that they stay where
// they are.
const routePatience = 20 * time.Second

// of returns the queue that a message goes to, or why there is none.
func (r *routes) of(ctx context.Context, l *letter.Letter) (*queue.Queue, error) {
	to, err := r.choose(ctx, l)
	switch {
	case err != nil:
		return nil, err
	case to.ARN == r.from.ARN:
		return nil, errItself
	case to.FIFO() && l.GroupID == "":
		return nil, noGroup(to)
	}
	return to, nil
}

// noGroup says why a message cannot go to a FIFO queue.
func noGroup(to *queue.Queue) error {
	return fmt.Errorf("it has no message group, and %s is a FIFO queue", to.Name())
}

func (r *routes) choose(ctx context.Context, l *letter.Letter) (*queue.Queue, error) {
	named := l.NamedSource()
	switch {
	case r.to != nil:
		return r.to, nil
	case l.Source != "":
		return r.queueOf(ctx, l.Source)
	case named == "" || slices.Contains(r.origins, named):
		return r.queueOf(ctx, named)
	}
	if _, err := endpoint.ParseARN(named); err != nil || strings.ContainsFunc(named, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, errNotARN // and it is not quoted
	}
	sources, err := r.find(ctx, allSources)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(sources.urls, func(queueURL string) bool {
		// A source has the account and region of its dead-letter queue.
		return nameOf(named, r.from.ARN) == queueURL[strings.LastIndex(queueURL, "/")+1:]
	}) {
		return nil, &unconfirmedError{named}
	}
	return r.queueOf(ctx, named)
}

func (r *routes) queueOf(ctx context.Context, key string) (*queue.Queue, error) {
	way, err := r.find(ctx, key)
	return way.queue, err
}

// without gives up a queue to which nothing can be sent: further messages for it stay. It returns
// false if there is no other queue that messages go to.
func (r *routes) without(arn string, err error) (others bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, way := range r.known {
		select {
		case <-way.found:
		default:
			continue
		}
		switch {
		case way.queue != nil && way.queue.ARN == arn:
			way.err = err
		case way.queue != nil && way.err == nil:
			others = true
		}
	}
	return others
}

// find looks for a route, each once.
func (r *routes) find(ctx context.Context, key string) (route, error) {
	r.mu.Lock()
	way, known := r.known[key]
	if !known {
		way = &route{found: make(chan struct{})}
		if r.known == nil {
			r.known = map[string]*route{}
		}
		r.known[key] = way
	}
	r.mu.Unlock()
	if !known {
		r.open(ctx, key, way) // others read it once found is closed
		close(way.found)
	}
	select {
	case <-way.found:
		r.mu.Lock()
		defer r.mu.Unlock()
		return *way, way.err
	case <-ctx.Done():
		return route{}, ctx.Err()
	}
}

func (r *routes) open(ctx context.Context, key string, way *route) {
	short, cancel := context.WithTimeout(ctx, routePatience)
	defer cancel()
	switch key {
	case allSources:
		if way.urls, way.err = r.from.Sources(short, queue.Opening); way.err != nil {
			way.err = fmt.Errorf("%w; with --to SQS is not asked", way.err)
		}
	case onlySource:
		all, err := r.find(ctx, allSources)
		switch {
		case err != nil:
			way.err = err
		case len(all.urls) != 1:
			way.err = errNoSource
		default:
			way.queue, way.err = r.from.OpenURL(short, all.urls[0], queue.Opening)
		}
	default:
		if way.queue, way.err = r.account.OpenARN(short, key, queue.Opening); errors.Is(way.err, queue.ErrNotARN) {
			way.err = errNotARN
		}
	}
}
