package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Queues are several queues, each with its own handler. Pass it to [Run], or to any other
// function of this package that takes a handler:
//
//	handler.Run(handler.Queues{
//		{URL: os.Getenv("ORDERS_URL"), Handler: batch.JSON(ship), Priority: 1},
//		{URL: os.Getenv("MAILS_URL"), Handler: batch.JSON(mail)},
//	})
//
// In a container all of them are polled. PollConfig.Queues must then be empty, and
// SQSBATCH_QUEUE_URL has no effect. On Lambda each queue needs an event source mapping. An
// event of another queue fails its invocation, so that no message is lost. All queues share
// one log, one health check and one stop. Put middleware around the Handler of each queue,
// not around Queues.
type Queues []Queue

// Queue is one of [Queues].
type Queue struct {
	// URL is the queue's URL, its ARN or its name.
	URL string

	// Handler handles the queue's records.
	Handler batch.Handler

	// Concurrency is the largest number of the queue's records that are handled at the same
	// time, 1 to 10,000. Defaults to Config.Concurrency, or else to the number that Handler
	// asks for, or to 10.
	Concurrency int

	// Priority decides which queue gets the next free slot if Config.Concurrency limits all
	// queues together: the queue with the highest Priority that has records. While it is busy,
	// it starves the queues below. Queues of the same Priority get the same number of slots,
	// and take turns if there are fewer slots than queues. Defaults to 0.
	Priority int

	// Set changes the configuration for this queue. It is called after Config and the
	// environment were applied:
	//
	//	Set: func(c *handler.Config) { c.Failures.Outage = time.Hour },
	//
	// Set must not change fields that are for all queues: Concurrency, Logger, Hooks, Other,
	// Poll.Queues, Poll.HealthAddr and Poll.Handlers. Defaults to no change.
	Set func(c *Config)
}

// Handle passes a record to the handler of its queue, which it finds by
// [batch.Record].QueueARN.
func (q Queues) Handle(ctx context.Context, r batch.Record) error {
	i := q.find(r.QueueARN)
	if i < 0 {
		return noQueue(r.QueueARN)
	}
	return q[i].Handler.Handle(ctx, r)
}

func noQueue(arn string) error {
	return fmt.Errorf("handler: Queues has no queue %s: name it there, or remove its event source mapping", arn)
}

// find returns the index of the queue with an ARN: the queue that has this ARN, or else one
// with the same name; -1 if there is none.
func (q Queues) find(arn string) int {
	i := slices.IndexFunc(q, func(q Queue) bool { return queueKey(q.URL) == queueKey(arn) })
	if i < 0 {
		name := batch.QueueName(arn)
		i = slices.IndexFunc(q, func(q Queue) bool { return name != "" && batch.QueueName(q.URL) == name })
	}
	return i
}

// Validate returns an error. It is called only if middleware wraps Queues, which is a mistake.
func (q Queues) Validate() error {
	return errors.New("handler: Queues must not be wrapped in middleware: wrap each queue's Handler")
}

// split returns h if it is Queues, or else a queue with h for each of names. Its error names
// everything that is wrong with Queues.
func (c *Config) split(h batch.Handler, names []string) (Queues, error) {
	q, ok := h.(Queues)
	if !ok {
		for _, name := range names {
			q = append(q, Queue{URL: name, Handler: h})
		}
		if wrapped.IsNil(h) {
			return q, errors.New("handler: the handler is nil")
		}
		return q, wrapped.Validate(h) // h may be Queues inside middleware
	}
	var wrong mistakes
	if len(names) > 0 {
		wrong.add(fmt.Errorf("handler: Poll.Queues is %s: must be empty, handler.Queues names the queues", strings.Join(names, ", ")))
	}
	if len(q) == 0 {
		wrong.add(errors.New("handler: Queues is empty, must have at least one queue"))
	}
	for i, queue := range q {
		if queue.URL == "" {
			wrong.add(fmt.Errorf("handler: Queues[%d].URL is empty, must be the queue's URL, ARN or name (is its environment variable set?)", i))
		}
		if wrapped.IsNil(queue.Handler) {
			wrong.add(fmt.Errorf("handler: Queues[%d].Handler is nil", i))
		}
		wrong.add(wrapped.Validate(queue.Handler))
		if queue.Concurrency != 0 {
			if err := settings.Concurrency.Check(queue.Concurrency); err != nil {
				wrong.add(fmt.Errorf("handler: Queues[%d].Concurrency is %d, %w", i, queue.Concurrency, err))
			}
		}
		if queue.Priority != 0 && c.Concurrency == 0 {
			wrong.add(fmt.Errorf("handler: Queues[%d].Priority has no effect without Config.Concurrency (SQSBATCH_CONCURRENCY): nothing else limits the queues together", i))
		}
	}
	return q, errors.Join(wrong...)
}

// of returns the configuration for one queue.
func (c *Config) of(q Queue) (Config, error) {
	own := *c
	if q.Set == nil {
		return own, nil
	}
	own.Hooks = batch.Hooks{} // functions cannot be compared
	q.Set(&own)
	for _, field := range []struct {
		name string
		same bool
	}{
		{"Logger", own.Logger == c.Logger},
		{"Hooks", reflect.ValueOf(own.Hooks).IsZero()},
		{"Concurrency", own.Concurrency == c.Concurrency},
		{"Poll.Queues", slices.Equal(own.Poll.Queues, c.Poll.Queues)},
		{"Poll.HealthAddr", own.Poll.HealthAddr == c.Poll.HealthAddr},
		{"Poll.Handlers", len(own.Poll.Handlers) == len(c.Poll.Handlers)},
	} {
		if !field.same {
			return own, fmt.Errorf("handler: Set of queue %s changes %s, which is for all queues: set it in Config", q.URL, field.name)
		}
	}
	own.Hooks = c.Hooks
	return own, errors.Join(own.validate()...)
}

// queueKey returns the same key for a queue's ARN and its URLs.
func queueKey(queue string) string {
	if arn, err := endpoint.ParseARN(queue); err == nil {
		return arn.Region + "/" + arn.Account + "/" + arn.Name
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return queue
	}
	return cmp.Or(endpoint.Region(u.Hostname()), u.Host) + "/" + strings.Trim(u.Path, "/")
}
