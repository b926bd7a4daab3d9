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
	*session
	to      *queue.Queue // of --to, nil without it
	origins []string     // of --origin

	// turn has a value while a caller uses what follows, and calls SQS for it. It is no mutex,
	// because goroutines that wait for one stop the virtual time of tests.
	turn    chan struct{}
	sources func() ([]string, error) // the URLs of the queues whose dead-letter queue this is
	known   map[string]*route        // by ARN; by "" for the only source
}

// A route is a queue, or why there is none, or why nothing can be sent to it.
type route struct {
	to  *queue.Queue
	err error
}

// newRoutes returns the routes of a session; its second interrupt ends their calls.
func newRoutes(s *session) *routes {
	return &routes{session: s, turn: make(chan struct{}, 1), known: map[string]*route{}, sources: sync.OnceValues(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(s.kill, routePatience)
		defer cancel()
		urls, err := s.queue.Sources(ctx, queue.Opening)
		if err != nil {
			err = fmt.Errorf("%w; with --to SQS is not asked", err)
		}
		return urls, err
	})}
}

var (
	errNoSource = errors.New("neither SQS nor sqsbatch says where it came from: name a queue with --to")
	errNotARN   = errors.New("the queue that its attribute sqsbatch names is not an ARN: name a queue with --to")
	errItself   = errors.New("it came from this queue itself: name a queue with --to")
)

// routePatience is how long a queue is looked for that messages go to. After that they stay where
// they are.
const routePatience = 20 * time.Second

// of returns the queue that a message goes to, or why there is none.
func (r *routes) of(l *letter.Letter) (*queue.Queue, error) {
	r.turn <- struct{}{}
	to, err := r.choose(l)
	<-r.turn
	switch {
	case err != nil:
		return nil, err
	case to.ARN == r.queue.ARN:
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

func (r *routes) choose(l *letter.Letter) (*queue.Queue, error) {
	named := l.NamedSource()
	switch {
	case r.to != nil:
		return r.to, nil
	case l.Source != "":
		return r.find(l.Source)
	case named == "" || slices.Contains(r.origins, named):
		return r.find(named)
	}
	if _, err := endpoint.ParseARN(named); err != nil || strings.ContainsFunc(named, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, errNotARN // and it is not quoted
	}
	urls, err := r.sources()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(urls, func(queueURL string) bool {
		// A source has the account and region of its dead-letter queue.
		return nameOf(named, r.queue.ARN) == queueURL[strings.LastIndex(queueURL, "/")+1:]
	}) {
		return nil, fmt.Errorf("only the message says that it came from %s, which is not a source of this queue: if it is right, add --origin %[1]s, else name a queue with --to", named)
	}
	return r.find(named)
}

// find opens a queue by its ARN, each once; "" is the only source.
func (r *routes) find(arn string) (*queue.Queue, error) {
	known := r.known[arn]
	if known == nil {
		known = &route{}
		known.to, known.err = r.open(arn)
		r.known[arn] = known
	}
	return known.to, known.err
}

func (r *routes) open(arn string) (*queue.Queue, error) {
	ctx, cancel := context.WithTimeout(r.kill, routePatience)
	defer cancel()
	if arn != "" {
		to, err := r.account.OpenARN(ctx, arn, queue.Opening)
		if errors.Is(err, queue.ErrNotARN) {
			err = errNotARN
		}
		return to, err
	}
	urls, err := r.sources()
	if err != nil {
		return nil, err
	}
	if len(urls) != 1 {
		return nil, errNoSource
	}
	return r.queue.OpenURL(ctx, urls[0], queue.Opening)
}

// without gives up a queue to which nothing can be sent: further messages for it stay. It returns
// false if there is no other queue that messages go to.
func (r *routes) without(arn string, err error) (others bool) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	for _, known := range r.known {
		if known.to != nil && known.to.ARN == arn {
			known.err = err
		}
		others = others || known.err == nil
	}
	return others
}
