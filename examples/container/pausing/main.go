// Command pausing stops receiving while the service that the handler needs is down.
// docs/outages.md explains it.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	shop := &service{url: os.Getenv("SHOP_URL")}
	if err := run(ctx, batch.HandlerFunc(shop.order), handler.Config{Concurrency: 20}, shop.healthy); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run handles records by h until ctx ends, except while healthy returns an error.
func run(ctx context.Context, h batch.Handler, cfg handler.Config, healthy func(context.Context) error) error {
	p, err := handler.NewPoller(h, cfg)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go watch(ctx, p, healthy)
	return p.Run(ctx)
}

// watch pauses and resumes the poller. Paused, it holds no messages: others can
// have them, and they come to no attempts that must fail.
func watch(ctx context.Context, p *handler.Poller, healthy func(context.Context) error) {
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

// client has a limit: a service that hangs is down.
var client = http.Client{Timeout: 10 * time.Second}

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
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", s.url, res.Status)
	}
	return nil
}
