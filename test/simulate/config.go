package simulate

import (
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// config is the function's handler.Config, without hooks and clients.
func (f Function) config(w *world) handler.Config {
	cfg := handler.Config{
		Concurrency: f.Concurrency, Reserve: f.Reserve, RecordTimeout: f.RecordTimeout, MinRemaining: f.MinRemaining, Grace: f.Grace,
		Failures: partialfailure.Config{
			Outage: f.Outage, Backoff: backoff(f.Backoff, w.plan.Seed), MaxReceiveCount: f.MaxReceiveCount,
			OnPermanent: partialfailure.OnPermanent(f.OnPermanent),
		},
		ErrorIfAllFail: f.ErrorIfAllFail, NoReportBatchItemFailures: f.DeleteSucceeded, LogSucceeded: f.LogSucceeded,
	}
	if name, isARN := strings.CutPrefix(f.DeadLetterQueue, "arn:"); isARN {
		cfg.Failures.DeadLetterQueue = w.server.QueueARN(name)
	} else if name != "" {
		cfg.Failures.DeadLetterQueue = w.server.QueueURL(name)
	}
	return cfg
}

// longestHashed bounds the backoff of that name.
const longestHashed = 30 * time.Second

func backoff(name string, seed uint64) partialfailure.Backoff {
	switch name {
	case "":
		// Exponential, drawn by the plan's seed.
		return func(attempt int) time.Duration {
			longest := min(2*time.Second<<min(max(attempt, 1)-1, 20), 15*time.Minute)
			return time.Second + time.Duration(random.Mix(seed^uint64(attempt))%uint64(longest-time.Second+1))
		}
	case "constant":
		return func(int) time.Duration { return 2 * time.Second }
	case "linear":
		return func(attempt int) time.Duration { return min(3*time.Second*time.Duration(attempt), time.Minute) }
	case "hashed":
		return func(attempt int) time.Duration {
			return time.Duration(random.Mix(seed+uint64(attempt)) % uint64(longestHashed))
		}
	case "negative":
		return func(int) time.Duration { return -5 * time.Second }
	case "endless":
		return func(int) time.Duration { return 50 * time.Hour }
	case "panics":
		return func(int) time.Duration { panic("the backoff panicked") }
	}
	return nil // "outage": the toolkit's own, which no seed repeats
}

// config is the replica's longpoll.Config, without hooks and client.
func (r Replica) config(w *world, f Function, q Queue) longpoll.Config {
	lambda := f.config(w)
	if w.mutant.Config != nil {
		w.mutant.Config(&lambda)
	}
	cfg := longpoll.Config{
		Queue:    w.server.QueueURL(q.Name),
		Engine:   runner.Config{Concurrency: lambda.Concurrency, RecordTimeout: lambda.RecordTimeout, Grace: lambda.Grace},
		Failures: lambda.Failures,
		Wait:     r.Wait, Prefetch: r.Prefetch, Visibility: r.Visibility,
		DrainLimit: r.DrainLimit, MaxAbandoned: r.MaxAbandoned,
	}
	if r.ByName {
		cfg.Queue = q.Name
	}
	return cfg
}
