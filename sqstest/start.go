package sqstest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/handler"
)

// start runs the handler until q.end is called.
func (q *Queue) start(h batch.Handler, cfg Config) {
	q.t.Helper()
	c := cfg.Handler
	c.SQS, c.Hooks = q.Client, append(c.Hooks[:len(c.Hooks):len(c.Hooks)], q)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var function *lambda.Deployment
	if cfg.Container {
		c.Poll.Queues = []string{q.URL}
		go func() { done <- handler.Poll(ctx, h, c) }()
	} else {
		mapping := q.mapping(h, c, cfg.Timeout)
		function = mapping.Function
		go func() { done <- mapping.Run(ctx) }()
	}
	q.end = func() {
		q.t.Helper()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			q.t.Errorf("the handler was stopped: %v", err)
		}
		if function != nil {
			_ = function.Close()
		}
		time.Sleep(time.Minute) // lets connections and timers end
	}
}

func (q *Queue) stop() {
	q.t.Helper()
	if q.end != nil {
		q.end()
	}
}

// mapping makes the function, and an event source mapping with Lambda's defaults.
func (q *Queue) mapping(h batch.Handler, c handler.Config, timeout time.Duration) lambda.Mapping {
	q.t.Helper()
	l, err := handler.New(h, c)
	if err != nil {
		q.t.Fatal(err)
	}
	function, err := lambda.Start(lambda.Function{Handler: l.Invoke, Timeout: timeout})
	if err != nil {
		q.t.Fatal(err)
	}
	return lambda.Mapping{Function: function, SQS: q.Client, QueueURL: q.URL, ReportBatchItemFailures: true}
}
