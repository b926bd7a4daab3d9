package combine

import (
	"context"
	"fmt"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// caught fails the test unless a history shows that a promise is broken.
func caught(t *testing.T, promise Promise, mutant Mutant, parts ...string) {
	t.Helper()
	random.Catch(t, 2000, func(t *testing.T, seed uint64) string {
		for _, v := range Check(Run(t, Generate(seed, parts...), mutant)) {
			if v.Promise == promise {
				return v.Text
			}
		}
		return ""
	})
}

// TestWrongOrders_AsMutants shows that each order that the table calls wrong breaks its promise.
func TestWrongOrders_AsMutants(t *testing.T) {
	for o, promise := range wrong {
		t.Run(o.Outer+" around "+o.Inner, func(t *testing.T) {
			t.Parallel()
			caught(t, promise, Mutant{}, o.Outer, o.Inner)
		})
	}
}

// TestMutants breaks what two packages share by the context.
func TestMutants(t *testing.T) {
	for _, m := range []struct {
		name    string
		promise Promise
		parts   []string
		mutant  Mutant
	}{
		{"bulk passes on the first record's claim", NothingLost, []string{"idempotency", "bulk"}, chunkSees("ctxkey.Claim")},
		{"bulk passes on what the first record has sent", SendsMade, []string{"sender", "bulk"}, chunkSees("ctxkey.Sends")},
		{"bulk passes on the first record", OwnRecord, []string{"sender", "bulk"}, chunkSees("ctxkey.Record")},
		{"bulk gives an item the context of another", SendsNamed, []string{"sender", "bulk"}, Mutant{Item: func(i, n int) int { return n - 1 - i }}},
		{"bulk gives an item no record", SendsOnce, []string{"sender", "bulk"}, Mutant{Item: func(int, int) int { return -1 }}},
		{"bulk gives an item the claim of another", KeptOwn, []string{"idempotency", "bulk"}, Mutant{Item: func(i, n int) int { return n - 1 - i }}},
		{"bulk leaves the claims of all but one out", Together, []string{"idempotency", "bulk"}, Mutant{Claims: 1}},
		{"a transaction does not wait for its messages", SendsMade, []string{"idempotency", "sender"}, Mutant{Unconfirmed: true}},
		{"a transaction does not keep its answer", Answered, []string{"reply", "idempotency"}, Mutant{Unkept: true}},
		{"idempotency does not see the runner, and so not Classify", KeptFailures, []string{"idempotency"}, hides("ctxkey.Runner", "idempotency")},
		{"router hides the runner from idempotency", KeptFailures, []string{"router", "idempotency"}, hides("ctxkey.Runner", "router")},
		{"the function, and so sender, does not see the record", SendsNamed, []string{"sender"}, hides("ctxkey.Record", "function")},
		{"reply does not see the runner, and so not Classify", Answered, []string{"reply"}, hides("ctxkey.Runner", "reply")},
		{"idempotency hides the answer from reply's Kept", Answered, []string{"reply", "idempotency"}, hides("reply.resultKey", "idempotency")},
		{"reply hides the claim from Keep", Answered, []string{"reply", "idempotency"}, hides("ctxkey.Claim", "function")},
		{"encoded passes on the record as it was", OwnRecord, []string{"encoded"}, keepsRecord("encoded")},
		{"s3payload passes on the record as it was", OwnRecord, []string{"s3payload"}, keepsRecord("s3payload")},
		{"router passes on the record as it was", OwnRecord, []string{"router"}, keepsRecord("router")},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			caught(t, m.promise, m.mutant, m.parts...)
		})
	}
}

// with is a mutant that changes the contexts that a part, or the function, gets.
func with(change func(e *env, part string, ctx context.Context, r batch.Record) context.Context) Mutant {
	return Mutant{Wrap: func(e *env, part string, next batch.Handler) batch.Handler {
		return batch.Chain(next, func(next batch.Handler) batch.Handler {
			return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				return next.Handle(change(e, part, ctx, r), r)
			})
		})
	}}
}

// values is a context with the value of another one for some keys.
type values struct {
	context.Context
	from context.Context
	of   func(key any) bool
}

func (v values) Value(key any) any {
	if v.of(key) {
		return v.from.Value(key)
	}
	return v.Context.Value(key)
}

// keyed reports whether a key of a context has a type, which may be another package's own.
func keyed(name string) func(key any) bool {
	return func(key any) bool { return fmt.Sprintf("%T", key) == name }
}

// chunkSees has a chunk's context show a value of its first record.
func chunkSees(key string) Mutant {
	m := with(func(e *env, part string, ctx context.Context, r batch.Record) context.Context {
		if part == "bulk" {
			e.records.Store(r.MessageID, ctx)
		}
		return ctx
	})
	m.Chunk = func(e *env, ctx context.Context, items []bulk.Item[Body]) context.Context {
		if first, ok := e.records.Load(items[0].Record.MessageID); ok {
			return values{ctx, first.(context.Context), keyed(key)}
		}
		return ctx
	}
	return m
}

type original struct{}

// hides has a part not see a value. The function sees it, unless it is the part.
func hides(key, from string) Mutant {
	return with(func(_ *env, part string, ctx context.Context, _ batch.Record) context.Context {
		switch outer, _ := ctx.Value(original{}).(context.Context); {
		case part == from:
			return values{context.WithValue(ctx, original{}, ctx), context.Background(), keyed(key)}
		case part == "function" && outer != nil:
			return values{ctx, outer, keyed(key)}
		}
		return ctx
	})
}

// keepsRecord has a part that changes the record leave the context as it was.
func keepsRecord(from string) Mutant {
	return with(func(_ *env, part string, ctx context.Context, r batch.Record) context.Context {
		switch before, _ := ctx.Value(original{}).(*batch.Record); {
		case part == from:
			return context.WithValue(ctx, original{}, &r)
		case part == "function" && before != nil:
			return batch.WithRecord(ctx, *before)
		}
		return ctx
	})
}
