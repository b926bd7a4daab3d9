package dlq

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// routes find the queue that a message goes to: the one of --to; else the queue that the
// message came from, as SQS or sqsbatch says; else the only queue whose dead-letter queue
// this is.
type routes struct {
	account *queue.Account
	from    *queue.Queue
	to      *queue.Queue // of --to, nil without it

	mu    sync.Mutex
	known map[string]*route // by ARN; "" is the only source
}

// A route is a queue, or why it cannot be used, once found is closed.
type route struct {
	found chan struct{}
	queue *queue.Queue
	err   error
}

var (
	errNoSource = errors.New("neither SQS nor sqsbatch says where it came from: name a queue with --to")
	errNotARN   = errors.New("the queue that its attribute sqsbatch names is not an ARN: name a queue with --to")
	errItself   = errors.New("it came from this queue itself: name a queue with --to")
)

// of returns the queue that a message goes to, or why there is none.
func (r *routes) of(ctx context.Context, l *letter.Letter) (*queue.Queue, error) {
	to, err := r.find(ctx, l.SourceARN())
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

func (r *routes) find(ctx context.Context, arn string) (*queue.Queue, error) {
	if r.to != nil {
		return r.to, nil
	}
	r.mu.Lock()
	way, known := r.known[arn]
	if !known {
		way = &route{found: make(chan struct{})}
		if r.known == nil {
			r.known = map[string]*route{}
		}
		r.known[arn] = way
	}
	r.mu.Unlock()
	if !known {
		way.queue, way.err = r.open(ctx, arn)
		close(way.found)
	}
	select {
	case <-way.found:
		return way.queue, way.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *routes) open(ctx context.Context, arn string) (*queue.Queue, error) {
	if arn != "" {
		to, err := r.account.OpenARN(ctx, arn, queue.Patience)
		if errors.Is(err, queue.ErrNotARN) {
			return nil, errNotARN
		}
		return to, err
	}
	sources, err := r.from.Sources(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(sources) != 1:
		return nil, errNoSource
	}
	return r.from.OpenURL(ctx, sources[0], queue.Patience)
}
