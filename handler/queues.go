package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Queues are several queues, each with a handler of its own. Pass it to [Run], or to any
// other function of this package that takes a handler:
//
//	handler.Run(handler.Queues{
//		{URL: os.Getenv("ORDERS_URL"), Handler: batch.JSON(ship), Weight: 3},
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

	// Weight is the queue's share of Config.MaxHandlers, 1 to 100. While all queues have
	// records, a queue with weight 3 has three times the slots of a queue with weight 1.
	// With Config.StrictPriority it is the queue's priority. Defaults to 1.
	Weight int

	// Set changes the configuration for this queue. It is called after Config and the
	// environment were applied:
	//
	//	Set: func(c *handler.Config) { c.Concurrency, c.Outage = 2, time.Hour },
	//
	// Set must not change fields that are for all queues: Logger, Hooks, Other,
	// MaxHandlers, StrictPriority, Poll.Queues, Poll.HealthAddr and Poll.Handlers. Defaults
	// to no change.
	Set func(c *Config)
}

const maxWeight = 100

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

// Validate returns an error. It is called only if middleware hides Queues, which is a
// mistake.
func (q Queues) Validate() error {
	return errors.New("handler: Queues must not be wrapped in middleware: wrap each queue's Handler")
}

// split returns the queues that h is for. If h is not Queues, it returns h for each of
// names. Its error names everything that is wrong with Queues.
func (c *Config) split(h batch.Handler, names []string) (Queues, error) {
	q, ok := h.(Queues)
	if !ok {
		for _, name := range names {
			q = append(q, Queue{URL: name, Handler: h})
		}
		return q, nil
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
		if queue.Weight < 0 || queue.Weight > maxWeight {
			wrong.add(fmt.Errorf("handler: Queues[%d].Weight is %d, must be 1 to %d", i, queue.Weight, maxWeight))
		}
		if queue.Weight > 0 && c.MaxHandlers == 0 {
			wrong.add(fmt.Errorf("handler: Queues[%d].Weight has no effect without MaxHandlers (SQSBATCH_MAX_HANDLERS): each queue has Concurrency slots of its own", i))
		}
	}
	return q, errors.Join(wrong...)
}

// slots returns the slots that all queues, or all invocations, share; nil without
// MaxHandlers.
func (c *Config) slots() *runner.Slots {
	if c.MaxHandlers <= 0 {
		return nil
	}
	return runner.NewSlots(c.MaxHandlers, c.StrictPriority)
}

// checkShared checks the fields that are for all queues.
func (c *Config) checkShared() (wrong mistakes) {
	if c.MaxHandlers < 0 || c.MaxHandlers > maxHandlers {
		wrong.add(fmt.Errorf("handler: MaxHandlers is %d, must be 1 to %d (SQSBATCH_MAX_HANDLERS)", c.MaxHandlers, maxHandlers))
	}
	if c.StrictPriority && c.MaxHandlers == 0 {
		wrong.add(errors.New("handler: StrictPriority has no effect without MaxHandlers (SQSBATCH_MAX_HANDLERS)"))
	}
	return wrong
}

const maxHandlers = 10_000

// of returns the configuration for one queue.
func (c *Config) of(q Queue) (Config, error) {
	own := *c
	own.Hooks = slices.Clone(c.Hooks)
	if q.Set != nil {
		q.Set(&own)
	}
	if own.Concurrency == 0 && c.MaxHandlers > 0 && wrapped.Concurrency(q.Handler) == 0 {
		own.Concurrency = c.MaxHandlers
	}
	for _, field := range []struct {
		name string
		same bool
	}{
		{"Logger", own.Logger == c.Logger},
		{"Hooks", len(own.Hooks) == len(c.Hooks)},
		{"MaxHandlers", own.MaxHandlers == c.MaxHandlers},
		{"StrictPriority", own.StrictPriority == c.StrictPriority},
		{"Poll.Queues", slices.Equal(own.Poll.Queues, c.Poll.Queues)},
		{"Poll.HealthAddr", own.Poll.HealthAddr == c.Poll.HealthAddr},
		{"Poll.Handlers", len(own.Poll.Handlers) == len(c.Poll.Handlers)},
	} {
		if !field.same {
			return own, fmt.Errorf("handler: Set of queue %s changes %s, which is for all queues: set it in Config", q.URL, field.name)
		}
	}
	return own, nil
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
