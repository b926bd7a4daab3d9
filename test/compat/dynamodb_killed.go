package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// killed is a server of its own that is killed.
type killed struct {
	*world
	address, folder string // see harness.StartDynamoDB
	server          *harness.Server
}

func (k *killed) start(ctx context.Context) {
	k.server = must.Get(harness.StartDynamoDB(ctx, k.address, k.folder))
	k.url = k.server.URL
}

// killDynamoDB kills a server with its tables in files (SIGKILL), and one with its tables in memory.
func killDynamoDB(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	for _, folder := range []string{filepath.Join(s.Tmp, "dynamodb"), ""} {
		if folder != "" {
			must.Do(os.MkdirAll(folder, 0o755))
		}
		k := &killed{world: &world{stage: s}, address: must.Get(harness.FreeAddress()), folder: folder}
		k.start(ctx)
		err := must.Run(func() { k.records(ctx) })
		_ = k.server.Stop()
		must.Do(err)
	}
	return nil
}

// records are handled before, while and after the server is down.
func (k *killed) records(ctx context.Context) {
	const lease = 2 * time.Second
	k.createTable(ctx, shared)
	store := dynamostore.New(k.client(), shared)
	works := map[string]int{}
	work := func(context.Context) {}
	h := batch.Chain(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		works[r.MessageID]++
		work(ctx)
		return nil
	}), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: prefix, Hash: idempotency.Plain, Lease: lease}))
	// want handles a record until it ends with that error, and compares how often its work was done
	// up to now. A server that has just started may answer too late.
	want := func(id string, is error, did int) {
		must.Do(harness.Until(ctx, time.Minute, func() error {
			if err := h.Handle(ctx, batch.Record{MessageID: id}); !errors.Is(err, is) {
				return fmt.Errorf("record %s: %w, want %w", id, err, is)
			}
			return nil
		}))
		if works[id] != did {
			must.Failf("with the folder %q the work of record %s was done %d times, want %d", k.folder, id, works[id], did)
		}
	}
	fails := func(id string) {
		if err := h.Handle(ctx, batch.Record{MessageID: id}); err == nil || errors.Is(err, batch.ErrDuplicate) || works[id] > 0 {
			must.Failf("without an answer of the store, record %s: %w, its work was done %d times", id, err, works[id])
		}
	}
	want("done", nil, 1)
	must.Get(store.Claim(ctx, idempotency.Claim{Key: prefix + "#claimed", Owner: "other", Lease: time.Hour, Remember: time.Hour}))
	work = func(context.Context) { k.server.Kill() }
	want("half", nil, 1) // its completion has no answer
	work = func(context.Context) {}
	fails("new")
	k.start(ctx)
	if k.folder == "" {
		fails("new") // there is no table
		k.createTable(ctx, shared)
		want("done", nil, 2)
		return
	}
	want("done", batch.ErrDuplicate, 1)
	want("new", nil, 1)
	want("claimed", batch.ErrInProgress, 0)
	want("half", nil, 2) // when its claim has ended
}
