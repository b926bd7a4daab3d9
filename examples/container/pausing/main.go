// Command pausing polls with a main of its own, which stops receiving while the
// service that the handler needs is down. docs/containers.md explains it.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err == nil {
		shop := &service{url: os.Getenv("SHOP_URL")}
		err = run(ctx, sqs.NewFromConfig(cfg), os.Getenv("QUEUE_URL"), batch.HandlerFunc(shop.order), shop.healthy)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run handles the queue's records by h until ctx ends, except while healthy
// returns an error.
func run(ctx context.Context, client *sqs.Client, queue string, h batch.Handler, healthy func(context.Context) error) error {
	lines := log.New(nil, log.Options{Every: time.Minute})
	defer lines.Flush(context.WithoutCancel(ctx))
	p, err := longpoll.New(h, longpoll.Config{
		Queue: queue, SQS: client,
		Engine: batch.Config{Concurrency: 20, Hooks: []any{lines}},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watch(ctx, p, healthy) })
	defer watching.Wait()
	defer stop()
	return p.Run(ctx)
}

// watch pauses and resumes the poller. Paused, it holds no messages: others can
// have them, and they come to no attempts that must fail.
func watch(ctx context.Context, p *longpoll.Poller, healthy func(context.Context) error) {
	for {
		if err := healthy(ctx); err != nil {
			p.Pause() // no effect when it is paused
		} else {
			p.Resume()
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// service is what the handler needs.
type service struct{ url string }

func (s *service) order(ctx context.Context, r batch.Record) error {
	return s.get(ctx, "/order?id="+r.MessageID)
}

func (s *service) healthy(ctx context.Context) error { return s.get(ctx, "/health") }

func (s *service) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", s.url, res.Status)
	}
	return nil
}
