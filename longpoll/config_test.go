package longpoll_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestWrongConfig_NamesFieldValueAndBounds(t *testing.T) {
	tests := []struct {
		change func(*longpoll.Config)
		says   []string
	}{
		{func(c *longpoll.Config) { c.Queue = "" }, []string{"Queue is empty"}},
		{func(c *longpoll.Config) { c.SQS = nil }, []string{"SQS is nil"}},
		{func(c *longpoll.Config) { c.Queue = "arn:aws:sns:eu-west-1:123456789012:orders" }, []string{"is not a queue's ARN", "SQSBATCH_QUEUE_URL"}},
		{func(c *longpoll.Config) { c.Queue = "arn:aws:sqs:eu-west-1:123456789012:orders" }, []string{"region of SQS's client"}},
		{func(c *longpoll.Config) { c.Wait = 500 * time.Millisecond }, []string{"Wait is 500ms", "1s to 20s"}},
		{func(c *longpoll.Config) { c.Wait = 21 * time.Second }, []string{"Wait is 21s"}},
		{func(c *longpoll.Config) { c.Wait = 1500 * time.Millisecond }, []string{"Wait is 1.5s", "whole seconds"}},
		{func(c *longpoll.Config) { c.Wait = -time.Second }, []string{"Wait is -1s"}},
		{func(c *longpoll.Config) { c.Prefetch = -2 }, []string{"Prefetch is -2"}},
		{func(c *longpoll.Config) { c.Prefetch = 10_001 }, []string{"Prefetch is 10001", "10000"}},
		{func(c *longpoll.Config) { c.Visibility = 2 * time.Second }, []string{"Visibility is 2s", "3s to 12h"}},
		{func(c *longpoll.Config) { c.Visibility = 13 * time.Hour }, []string{"Visibility is 13h"}},
		{func(c *longpoll.Config) { c.Visibility = 3500 * time.Millisecond }, []string{"Visibility is 3.5s", "whole seconds"}},
		{func(c *longpoll.Config) { c.Visibility = -time.Minute }, []string{"Visibility is -1m"}},
		{func(c *longpoll.Config) { c.Engine.RecordTimeout = 12 * time.Hour }, []string{"RecordTimeout is 12h", "11h59m"}},
		{func(c *longpoll.Config) { c.Engine.RecordTimeout = -time.Second }, []string{"RecordTimeout is -1s"}},
		{func(c *longpoll.Config) { c.DrainLimit = -time.Second }, []string{"DrainLimit is -1s"}},
		{func(c *longpoll.Config) { c.DrainLimit = 13 * time.Hour }, []string{"DrainLimit is 13h"}},
		{func(c *longpoll.Config) { c.MaxAbandoned = -1 }, []string{"MaxAbandoned is -1"}},
		{func(c *longpoll.Config) { c.MaxAbandoned = 10_001 }, []string{"MaxAbandoned is 10001"}},
		{func(c *longpoll.Config) { c.Engine.Concurrency = -1 }, []string{"Concurrency is -1"}},
		{func(c *longpoll.Config) { c.Engine.Concurrency = 10_001 }, []string{"Concurrency is 10001"}},
		{func(c *longpoll.Config) { c.Engine.Grace = -1 }, []string{"Grace is"}},
		{func(c *longpoll.Config) { c.Engine.Hooks = []any{42} }, []string{"Hooks[0]"}},
		{func(c *longpoll.Config) { c.Failures.OnPermanent = "burn" }, []string{`OnPermanent is "burn"`}},
		{func(c *longpoll.Config) { c.Failures.DeadLetterQueue = "dead" }, []string{`DeadLetterQueue is "dead"`}},
		{func(c *longpoll.Config) { c.Failures.MaxReceiveCount = 2000 }, []string{"MaxReceiveCount is 2000"}},
		{func(c *longpoll.Config) { c.Wait, c.Prefetch = -time.Second, -2 }, []string{"Wait is -1s", "Prefetch is -2"}},
		{func(c *longpoll.Config) {
			c.Wait, c.Engine.Concurrency, c.Engine.Grace, c.Engine.Hooks = -time.Second, -1, -1, []any{42, "text"}
			c.Failures.OnPermanent, c.Failures.MaxReceiveCount = "burn", 2000
		}, []string{"Wait is", "Concurrency is", "Grace is", "Hooks[0]", "Hooks[1]", "OnPermanent is", "MaxReceiveCount is"}},
		{func(c *longpoll.Config) {
			c.NoHeartbeat, c.Visibility, c.Engine.RecordTimeout = true, 6*time.Second, 10*time.Minute
		}, []string{"RecordTimeout is 10m0s, must be at most the visibility timeout, which is 6s: with NoHeartbeat"}},
		// What needs more time than the visibility leaves could never be started.
		{func(c *longpoll.Config) {
			c.NoHeartbeat, c.Visibility, c.Engine.MinRemaining = true, 10*time.Second, 10*time.Second
		}, []string{"MinRemaining is 10s", "no record would ever be started"}},
	}
	for _, test := range tests {
		cfg := longpoll.Config{Queue: "orders", SQS: awssqs.New(awssqs.Options{})}
		test.change(&cfg)
		p, err := longpoll.New(batch.HandlerFunc(ok), cfg)
		if err == nil || p != nil {
			t.Errorf("no error that says %q", test.says)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not say %q", err, part)
			}
		}
		if text, _, _ := strings.Cut(err.Error(), "with package handler: "); strings.Contains(text, "SQSBATCH_") {
			t.Errorf("error %q names a variable as if this package read it", err)
		}
		if len(test.says) > 0 && strings.HasPrefix(test.says[0], "Concurrency") && strings.Contains(err.Error(), "Prefetch") {
			t.Errorf("error %q blames a field that was not set", err)
		}
	}
}

func TestConfigAtItsBounds_IsAccepted(t *testing.T) {
	for _, c := range []longpoll.Config{
		{},
		{Wait: time.Second, Prefetch: -1, Visibility: 3 * time.Second, DrainLimit: time.Nanosecond, MaxAbandoned: 1},
		{Wait: 20 * time.Second, Prefetch: 10_000, Visibility: 12 * time.Hour, DrainLimit: 12 * time.Hour, MaxAbandoned: 10_000,
			Engine: batch.Config{Concurrency: 10_000, RecordTimeout: 12*time.Hour - time.Minute}},
		{NoHeartbeat: true},
		{Failures: partialfailure.Config{DeadLetterQueue: "https://sqs.eu-west-1.amazonaws.com/1/dead"}},
	} {
		c.Queue, c.SQS = "orders", awssqs.New(awssqs.Options{})
		if _, err := longpoll.New(batch.HandlerFunc(ok), c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNilHandler_IsRefused(t *testing.T) {
	cfg := longpoll.Config{Queue: "orders", SQS: awssqs.New(awssqs.Options{})}
	for _, h := range []batch.Handler{nil, batch.HandlerFunc(nil)} {
		if _, err := longpoll.New(h, cfg); err == nil || !strings.Contains(err.Error(), "handler is nil") {
			t.Errorf("New without a handler: %v", err)
		}
	}
}

func TestRecordTimeout_EndsTheContext(t *testing.T) {
	for _, test := range []struct{ set, want time.Duration }{{0, 15 * time.Minute}, {time.Minute, time.Minute}} {
		var given time.Duration
		h := func(ctx context.Context, _ batch.Record) error {
			d, _ := ctx.Deadline()
			given = time.Until(d)
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("the context ended with %v", ctx.Err())
			}
			return ctx.Err()
		}
		inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.RecordTimeout = test.set }, func(w *world) {
			w.Send("a")
			w.start()
			w.after(test.want + time.Second)
			if given != test.want {
				t.Errorf("a record was given %v, want %v", given, test.want)
			}
			w.wantOutcomes(batch.Retry)
		})
	}
}
