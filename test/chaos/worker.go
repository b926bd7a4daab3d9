package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// runWorker is what the chaos run starts, stops and kills: a consumer as a
// user would write it, which keeps a diary.
func runWorker() {
	// The driver holds the other end: whatever happens to it, this process ends.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	d, err := openDiary(os.Getenv("CHAOS_DIARY"))
	if err != nil {
		fatal(err)
	}
	go watchStalls(func(at time.Time, lasted time.Duration) {
		note(d, diaryLine{Kind: lineStall, At: at, Lasted: lasted})
	})
	var h batch.Handler = batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return handle(ctx, d, r) })
	if url := os.Getenv("CHAOS_STORE"); url != "" {
		h = batch.Chain(h, idempotency.New(storeClient{URL: url}, idempotency.Config{
			Key: idempotency.KeyOf(func(o task) string { return strconv.Itoa(o.workOf()) }), Prefix: "orders", Hash: idempotency.Plain,
		}))
	}
	if address := os.Getenv("CHAOS_PROBE"); address != "" { // see soak
		go serveProbe(address)
		h = leaking(h, os.Getenv("CHAOS_LEAK"))
	}
	handler.Run(h)
}

func handle(ctx context.Context, d *diaryWriter, r batch.Record) error {
	var o task
	if err := json.Unmarshal([]byte(r.Body), &o); err != nil {
		return batch.Permanent(err)
	}
	note(d, diaryLine{Kind: lineStart, N: o.N, Attempt: r.Attempt, At: time.Now()})
	outcome, err := fill(ctx, o, r.Attempt)
	note(d, diaryLine{Kind: lineEnd, N: o.N, Attempt: r.Attempt, At: time.Now(), Outcome: outcome})
	return err
}

func fill(ctx context.Context, o task, attempt int) (ending, error) {
	long := time.Duration(o.Millis) * time.Millisecond
	switch {
	case o.Once && attempt > 1:
	case o.Deaf:
		time.Sleep(long)
	case !sleep.For(ctx, long):
		return endedCancelled, ctx.Err()
	}
	switch {
	case o.Permanent:
		return endedPermanent, batch.Permanent(errors.New("an order that cannot be filled"))
	case attempt <= o.Fails:
		return endedFailed, fmt.Errorf("attempt %d of an order that fails %d times", attempt, o.Fails)
	}
	return endedOK, nil
}

func note(d *diaryWriter, l diaryLine) {
	if err := d.Write(l); err != nil {
		fatal(err)
	}
}
