package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// newQueue makes a queue for one measurement, and a function that deletes it.
func newQueue(url string) (queue string, remove func() error, err error) {
	w, err := dial(url)
	if err != nil {
		return "", nil, err
	}
	defer w.close()
	name := fmt.Sprintf("q%d", queues.Add(1)) // a deleted queue's name may not be used again within a minute
	answer, err := w.call("CreateQueue", fmt.Appendf(nil, `{"QueueName":%q,"Attributes":{"VisibilityTimeout":"600"}}`, name))
	if err != nil {
		return "", nil, err
	}
	_, after, found := strings.Cut(string(answer), `"QueueUrl":"`)
	queue, _, closed := strings.Cut(after, `"`)
	if !found || !closed {
		return "", nil, fmt.Errorf("CreateQueue answered %.300s", answer)
	}
	return queue, func() error {
		w, err := dial(url)
		if err != nil {
			return err
		}
		defer w.close()
		_, err = w.call("DeleteQueue", fmt.Appendf(nil, `{"QueueUrl":%q}`, queue))
		return err
	}, nil
}

var queues atomic.Int64

// work is one call, or a receive with its delete; n is how many messages it was
// about, and 0 ends the measurement of that connection.
type work func(*client) (n int, err error)

func sending(batch int) work {
	return func(c *client) (int, error) { return batch, c.send(batch) }
}

func taking(batch int) work {
	return func(c *client) (int, error) { return c.take(batch) }
}

// load has all clients do the work side by side for that long, and returns how
// many messages it was about and the time until the last client had finished.
func load(ctx context.Context, clients []*client, d time.Duration, do work) (messages int, took time.Duration, err error) {
	var total atomic.Int64
	errs := make([]error, len(clients))
	var group sync.WaitGroup
	began := time.Now()
	for i, c := range clients {
		group.Go(func() {
			for time.Since(began) < d && ctx.Err() == nil {
				n, err := do(c)
				if err != nil {
					errs[i] = err
					return
				}
				if n == 0 {
					return
				}
				total.Add(int64(n))
			}
		})
	}
	group.Wait()
	return int(total.Load()), time.Since(began), errors.Join(append(errs, ctx.Err())...)
}
