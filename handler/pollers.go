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
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// pollers makes a poller for each queue. It returns an error that names all that
// is wrong with the configuration, once.
func (c *Config) pollers(ctx context.Context, h batch.Handler, hook any) ([]*longpoll.Poller, error) {
	// The log comes last: one that nobody reads keeps the metrics from nobody.
	engine := c.engine(append(slices.Clone(c.Hooks), hook)...)
	failures := c.failures()
	engine.Reserve, engine.Deadline, engine.MinRemaining = 0, "", 0
	wrong := c.checkPoll()
	list := make([]*longpoll.Poller, len(c.Poll.Queues))
	for i, queue := range c.Poll.Queues {
		client, err := c.pollClient(ctx, queue)
		if err != nil {
			wrong.add(err)
			continue
		}
		list[i], err = longpoll.New(h, longpoll.Config{
			Queue: queue, SQS: client, Engine: engine, Failures: failures,
			Wait: c.Poll.Wait, Prefetch: c.Poll.Prefetch, Visibility: c.Poll.Visibility, NoHeartbeat: c.Poll.NoHeartbeat,
			DrainLimit: c.Poll.DrainLimit, MaxAbandoned: c.Poll.MaxAbandoned,
		})
		wrong.add(err)
	}
	return list, errors.Join(wrong...)
}

// mistakes are errors, each once: those of one queue are often all queues'.
type mistakes []error

func (m *mistakes) add(err error) {
	if list, ok := err.(interface{ Unwrap() []error }); ok { // errors.Join's
		for _, err := range list.Unwrap() {
			m.add(err)
		}
		return
	}
	if err != nil && !slices.ContainsFunc(*m, func(e error) bool { return e.Error() == err.Error() }) {
		*m = append(*m, err)
	}
}

// checkPoll is about what only Poll knows.
func (c *Config) checkPoll() (wrong mistakes) {
	if len(c.Poll.Queues) == 0 {
		wrong.add(errors.New("handler: Poll.Queues is empty, must name at least one queue (SQSBATCH_QUEUE_URL)"))
		wrong.add(unknownVariables())
	}
	seen := map[string]string{}
	for _, queue := range c.Poll.Queues {
		key := queueKey(queue)
		if earlier, twice := seen[key]; twice {
			wrong.add(fmt.Errorf("handler: Poll.Queues names a queue twice (SQSBATCH_QUEUE_URL), as %s and as %s: to handle more of it at a time raise Concurrency", earlier, queue))
		}
		seen[key] = queue
	}
	return append(wrong, c.Poll.checkHealth()...)
}

// queueKey is the same for a queue's ARN and its URLs.
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
