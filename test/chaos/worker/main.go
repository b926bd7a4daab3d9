// Command worker is what the chaos run starts, stops and kills: a consumer as a
// user would write it, which keeps a diary.
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
	"github.com/sqsbatch/sqsbatch/test/chaos/diary"
	"github.com/sqsbatch/sqsbatch/test/chaos/httpstore"
)

func main() {
	// The driver holds the other end: whatever happens to it, this process ends.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	d, err := diary.Open(os.Getenv("CHAOS_DIARY"))
	if err != nil {
		fail(err)
	}
	go diary.Stalls(func(at time.Time, lasted time.Duration) {
		note(d, diary.Line{Kind: diary.Stall, At: at, Lasted: lasted})
	})
	var h batch.Handler = batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return handle(ctx, d, r) })
	if url := os.Getenv("CHAOS_STORE"); url != "" {
		h = batch.Chain(h, idempotency.New(httpstore.Client{URL: url}, idempotency.Config{
			Key: idempotency.KeyOf(work), Prefix: "orders", Hash: idempotency.Plain,
		}))
	}
	handler.Run(h)
}

// work is the number of the order whose work a message is.
func work(o diary.Order) string {
	if o.Key > 0 {
		return strconv.Itoa(o.Key - 1)
	}
	return strconv.Itoa(o.N)
}

func handle(ctx context.Context, d *diary.Writer, r batch.Record) error {
	var o diary.Order
	if err := json.Unmarshal([]byte(r.Body), &o); err != nil {
		return batch.Permanent(err)
	}
	note(d, diary.Line{Kind: diary.Start, N: o.N, Attempt: r.Attempt, At: time.Now()})
	outcome, err := fill(ctx, o, r.Attempt)
	note(d, diary.Line{Kind: diary.End, N: o.N, Attempt: r.Attempt, At: time.Now(), Outcome: outcome})
	return err
}

func fill(ctx context.Context, o diary.Order, attempt int) (diary.Outcome, error) {
	long := time.Duration(o.Millis) * time.Millisecond
	switch {
	case o.Once && attempt > 1:
	case o.Deaf:
		time.Sleep(long)
	case !sleep.For(ctx, long):
		return diary.Cancelled, ctx.Err()
	}
	switch {
	case o.Permanent:
		return diary.Permanent, batch.Permanent(errors.New("an order that cannot be filled"))
	case attempt <= o.Fails:
		return diary.Failed, fmt.Errorf("attempt %d of an order that fails %d times", attempt, o.Fails)
	}
	return diary.OK, nil
}

func note(d *diary.Writer, l diary.Line) {
	if err := d.Write(l); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "worker: %v\n", err)
	os.Exit(4)
}
