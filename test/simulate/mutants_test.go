package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

type mutantCase struct {
	name   string
	caught Invariant
	mutant Mutant
}

// bothMutants are for both modes. Each breaks one thing, which the invariant has to see.
var bothMutants = []mutantCase{
	{"changes the body of dead letters", Kept, ask("SendMessageBatch", func(call map[string]any) {
		for _, e := range entries(call) {
			e["MessageBody"] = e["MessageBody"].(string) + " "
		}
	})},
	{"forgets the trace header of dead letters", Kept, ask("SendMessageBatch", func(call map[string]any) {
		for _, e := range entries(call) {
			delete(e, "MessageSystemAttributes")
		}
	})},
	{"asks for more than 12 hours", Bounded, visibility(func(int) int { return 43_201 })},
	{"asks for 12 hours from now, not from the receipt", Bounded, visibility(func(int) int { return 43_200 })},
	{"calls again forever when SQS fails", Frugal, wire(again)},
	{"has failures come back at once", Spaced, visibility(func(int) int { return 0 })},
	{"counts the backoff in half seconds", Spaced, visibility(func(s int) int { return s / 2 })},
	{"sends dead letters twice", Single, wire(sendTwice)},
	{"hides what was skipped for longer than what failed", Together, hideOthers()},
	{"answers its visibility calls by itself", VisibilitySet, confirm(func(r *http.Request) bool { return isCall(r, "ChangeMessageVisibilityBatch") })},
}

// mutants are those of Lambda.
var mutants = []mutantCase{
	{"reports nothing though records failed", DeletedOnlyWhenDone, respond(func(report, event) report {
		return report{BatchItemFailures: []failure{}}
	})},
	{"leaves the first failure out of the response", DeletedOnlyWhenDone, respond(func(r report, _ event) report {
		return report{BatchItemFailures: r.BatchItemFailures[min(1, len(r.BatchItemFailures)):]}
	})},
	{"swallows a record", DeletedOnlyWhenDone, onEvent(func(e event) event {
		return event{e.Records[:max(1, len(e.Records)-1)]}
	})},
	{"deletes before it sends to the dead-letter queue", DeletedOnlyWhenDone, deleteFirst()},
	{"drops what belongs into the dead-letter queue", DeletedOnlyWhenDone, Mutant{Config: func(c *handler.Config) {
		c.OnPermanent = partialfailure.Drop
	}}},
	{"forgets the attributes of dead letters", Kept, ask("SendMessageBatch", func(call map[string]any) {
		for _, e := range entries(call) {
			delete(e, "MessageAttributes")
		}
	})},
	{"reports a success as failed", Final, respond(func(r report, e event) report {
		id, _ := e.Records[0]["messageId"].(string)
		if !slices.Contains(r.BatchItemFailures, failure{id}) {
			r.BatchItemFailures = append([]failure{{id}}, r.BatchItemFailures...)
		}
		return r
	})},
	{"reports every record when one failed", Final, invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if len(readReport(response).BatchItemFailures) > 0 {
			var all report // every record, as an invocation that failed
			for _, r := range readEvent(payload).Records {
				all.BatchItemFailures = append(all.BatchItemFailures, failure{r["messageId"].(string)})
			}
			return json.Marshal(all)
		}
		return response, err
	})},
	{"handles the records of a group side by side", Ordered, oneByOne(true)},
	{"goes on with a group after a failure", Ordered, oneByOne(false)},
	{"takes a group's records in the wrong order", Ordered, onEvent(func(e event) event {
		slices.Reverse(e.Records)
		return e
	})},
	{"answers after its deadline", Punctual, afterwards(func(ctx context.Context, _ report) {
		deadline, _ := ctx.Deadline()
		time.Sleep(time.Until(deadline) + time.Millisecond)
	})},
	{"leaves nothing for the response", Punctual, afterwards(func(ctx context.Context, _ report) {
		deadline, _ := ctx.Deadline()
		time.Sleep(time.Until(deadline) - time.Millisecond)
	})},
	{"panics", Punctual, afterwards(func(context.Context, report) { panic("out of memory") })},
	{"takes every attempt for the first", Counted, onEvent(func(e event) event {
		for _, r := range e.Records {
			r["attributes"].(map[string]any)["ApproximateReceiveCount"] = "1"
		}
		return e
	})},
	{"asks for a negative visibility", Bounded, visibility(func(int) int { return -1 })},
	{"has another backoff than is configured", Spaced, Mutant{Config: func(c *handler.Config) {
		c.Outage, c.Backoff = 0, partialfailure.Constant(time.Second)
	}}},
	{"takes its time", Prompt, afterwards(func(context.Context, report) { time.Sleep(20 * time.Millisecond) })},
	{"goes on calling SQS after the response", Frugal, invoking(func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error) {
		late := hide(context.WithoutCancel(ctx), readEvent(payload), 30)
		time.AfterFunc(time.Minute, func() { tell(connection, late) })
		return next(ctx, payload)
	})},
	{"sends heartbeats", Frugal, invoking(heartbeats)},
	{"makes a call for each record", Frugal, wire(entryByEntry)},
	{"is stuck: nothing is ever started", Drained, Mutant{Config: func(c *handler.Config) { c.MinRemaining = 12 * time.Hour }}},
	{"leaves a goroutine behind", Drained, invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		go leftBehind()
		return next(ctx, payload)
	})},
	{"handles every record twice", Once, invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		if _, err := next(ctx, payload); err != nil {
			return nil, err
		}
		return next(ctx, payload)
	})},
	{"reports in another order", Once, respond(func(r report, _ event) report {
		slices.Reverse(r.BatchItemFailures)
		return r
	})},
	{"fails where it should report", Once, Mutant{Config: func(c *handler.Config) { c.ErrorIfAllFail = !c.ErrorIfAllFail }}},
	{"swallows its error", Once, invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		var failed *handler.FailedError
		if errors.As(err, &failed) {
			return []byte(`{}`), nil
		}
		return response, err
	})},
	{"tells its hooks twice", Once, Mutant{Config: func(c *handler.Config) { c.Hooks = append(c.Hooks, told{c.Hooks[0].(*hooks)}) }}},
	{"hides what was not started", Together, visibility(func(s int) int { return max(s, 30) })},
	{"does not say where a dead letter came from", Explained, ask("SendMessageBatch", forgetOrigin)},
	{"does not know the last attempt", Spared, Mutant{Config: func(c *handler.Config) { c.MaxReceiveCount = 1000 }}},
	{"shows what failed at once, abandoned or not", Alone, invoking(func(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if err == nil && len(readReport(response).BatchItemFailures) > 0 {
			tell(connection, hide(context.WithoutCancel(ctx), readEvent(payload), 0))
		}
		return response, err
	})},
	{"has a slot too many", WithinCapacity, Mutant{Config: func(c *handler.Config) { c.Concurrency = 3*max(c.Concurrency, 10) + 1 }}},
	{"has as many slots as it likes for all invocations", WithinCapacity, Mutant{Config: func(c *handler.Config) {
		if c.MaxHandlers > 0 {
			c.Concurrency, c.MaxHandlers = c.MaxHandlers, 0
		}
	}}},
	{"forgets its record timeout", Limited, Mutant{Config: func(c *handler.Config) { c.RecordTimeout = 0 }}},
	{"reserves little", Limited, Mutant{Config: func(c *handler.Config) { c.Reserve = 2 * time.Millisecond }}},
	{"has another grace", Limited, Mutant{Config: func(c *handler.Config) { c.Grace = time.Microsecond }}},
	{"logs a wrong count", Once, Mutant{Config: func(c *handler.Config) {
		c.Logger = slog.New(miscount{c.Logger.Handler()})
	}}},
}

// within is how many histories it may take to catch a mutant.
const within = 4000

// Every mutant is caught by the invariant that it breaks.
func TestMutants(t *testing.T) {
	catch(t, slices.Concat(mutants, bothMutants, abortMutants, breakMutants, wideMutants, keyMutants), Invariants, func(p Plan) bool { return !p.Polls() })
}

// caughtFile has the history by which each mutant is caught, where that is not one
// of the first: it is the first to be tried. What it says is only a hint: when the
// plans change, the search goes on from there, which takes longer. To write it anew:
//
//	go test ./test/simulate -run 'Mutants$' -count=1 -args -search
const caughtFile = "testdata/caught.json"

// hints reads caughtFile.
func hints(t *testing.T) (first map[string]uint64) {
	t.Helper()
	b, err := os.ReadFile(caughtFile)
	if err == nil {
		err = json.Unmarshal(b, &first)
	}
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// note writes which histories caught the mutants of a test, with -search.
func note(t *testing.T, test string, caught map[string]uint64) {
	t.Helper()
	all := hints(t)
	maps.DeleteFunc(all, func(name string, _ uint64) bool { return strings.HasPrefix(name, test+"/") })
	for name, seed := range caught {
		if seed > 10 {
			all[name] = seed
		}
	}
	b, err := json.MarshalIndent(all, "", "\t")
	if err == nil {
		err = os.WriteFile(caughtFile, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// catch runs mutants through the plans of a mode.
func catch(t *testing.T, list []mutantCase, invariants []Invariant, mode func(Plan) bool) {
	first, caught := hints(t), map[string]uint64{}
	var mu sync.Mutex
	if *search {
		first = nil
		test := t.Name()
		t.Cleanup(func() { note(t, test, caught) })
	}
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			from := first[t.Name()]
			for n := range uint64(within) {
				s := from + n
				p := Generate(s)
				if !mode(p) {
					continue
				}
				h, err := RunInBubble(t, p, m.mutant)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range Check(h) {
					if v.Invariant == m.caught {
						t.Logf("caught in history %d, after %d: %s", s, n, v.Text)
						mu.Lock()
						caught[t.Name()] = s
						mu.Unlock()
						return
					}
				}
			}
			t.Errorf("not caught by %q in %d histories", m.caught, within)
		})
	}
	for _, i := range invariants {
		if !slices.ContainsFunc(list, func(m mutantCase) bool { return m.caught == i }) {
			t.Errorf("no mutant breaks %q", i)
		}
	}
}
