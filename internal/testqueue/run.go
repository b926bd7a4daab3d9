package testqueue

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Lambda returns h for Lambda, with the queue's client and, unless cfg has a logger,
// without a log.
func (q *Queue) Lambda(h batch.Handler, cfg handler.Config) *handler.LambdaHandler {
	q.t.Helper()
	l, err := handler.New(h, q.config(cfg))
	if err != nil {
		q.t.Fatal(err)
	}
	return l
}

// Poll runs h in a container until ctx ends, or for a time.
func (q *Queue) Poll(ctx context.Context, during time.Duration, h batch.Handler, cfg handler.Config) {
	q.t.Helper()
	ctx, stop := context.WithTimeout(ctx, during)
	defer stop()
	cfg = q.config(cfg)
	cfg.Poll.Queues = []string{q.URL}
	if err := handler.Poll(ctx, h, cfg); err != nil {
		q.t.Error(err)
	}
}

// StartPoll begins to run h in a container. stop ends it and waits for its end.
func (q *Queue) StartPoll(h batch.Handler, cfg handler.Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.Poll(ctx, 1000*time.Hour, h, cfg)
	}()
	return func() { cancel(); <-ended }
}

func (q *Queue) config(cfg handler.Config) handler.Config {
	cfg.SQS = q.Client
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// DeadBodies returns the bodies in the dead-letter queue, up to ten, sorted.
func (q *Queue) DeadBodies() (bodies []string) {
	q.t.Helper()
	for _, m := range q.DeadLetters() {
		bodies = append(bodies, *m.Body)
	}
	slices.Sort(bodies)
	return bodies
}
