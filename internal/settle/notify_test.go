package settle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	emulator "github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// listener notes the calls that it is notified of.
type listener struct {
	mu    sync.Mutex
	calls []batch.Call
	takes time.Duration
}

func (l *listener) Called(_ context.Context, c batch.Call) {
	time.Sleep(l.takes)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// lines are the calls, sorted: those of a batch are made side by side.
func (l *listener) lines() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		line := fmt.Sprintf("%s of %s at %s: %d, %d failed", c.Operation, c.QueueARN[strings.LastIndexByte(c.QueueARN, ':')+1:], c.URL[strings.LastIndexByte(c.URL, '/')+1:], c.Entries, c.Failed)
		if c.Err != nil {
			line += " by an error"
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

// settle handles what is in the queue with further hooks, and returns how long settling took
// after the last handler, and after that until the hooks had been notified.
func (f *fixture) settle(handle batch.HandlerFunc, further ...any) (results []batch.Result, settled, told time.Duration) {
	f.t.Helper()
	f.hooks, f.queue = testhooks.Of(append([]any{f}, further...)...), batch.QueueName(f.ARN)
	engine := f.newEngine(handle)
	cfg := f.settling
	cfg.Hooks, cfg.Client = engine.Hooks, clientOf(f)
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	times := engine.Times(ctx)
	records := f.Receive(100)
	st := settle.New(cfg).Begin(ctx, records, times.SettleBy)
	results = engine.Run(ctx, records, st.Options(times))
	ran := time.Now()
	st.Settle(results)
	finished := time.Now()
	st.AwaitHooks()
	return results, finished.Sub(ran), time.Since(finished)
}

func TestHooksAreToldOfCalls(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("ok", "1:fail", "2:fail", "never")
		f.settling.DeleteIfOthersFail = true
		if err := f.Server().Inject(emulator.Fault{Kind: emulator.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Times: 1},
			emulator.Fault{Kind: emulator.Failure, Operation: "DeleteMessageBatch", Code: "AccessDenied"},
			emulator.Fault{Kind: emulator.Latency, Latency: time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		l := &listener{}
		f.settle(byBody, l)
		name := f.ARN[strings.LastIndexByte(f.ARN, ':')+1:]
		got := l.lines()
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], name, "Q")
		}
		for _, want := range []string{"ChangeMessageVisibilityBatch of Q at Q: 2, 1 failed", "ChangeMessageVisibilityBatch of Q at Q: 1, 0 failed",
			"DeleteMessageBatch of Q at Q: 1, 1 failed by an error", "GetQueueAttributes of Q at Q: 0, 0 failed"} {
			if !slices.Contains(got, want) {
				t.Errorf("called for\n%s\nwant %s", strings.Join(got, "\n"), want)
			}
		}
		sent := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "SendMessageBatch of Q at ") })
		if sent < 0 || strings.Contains(got[sent], "at Q:") || !strings.HasSuffix(got[sent], ": 1, 0 failed") {
			t.Errorf("called for\n%s\nwant one to the dead-letter queue", strings.Join(got, "\n"))
		}
		for _, c := range l.calls {
			if c.Started.IsZero() || c.Started.After(time.Now()) || c.Duration != time.Millisecond {
				t.Errorf("%s was made at %v and took %v", c.Operation, c.Started, c.Duration)
			}
		}
	})
}

// A hook that takes long delays no settling. Package handler limits how long it is waited for.
func TestAHookForCallsDelaysNoSettling(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail")
		l := &listener{takes: time.Hour}
		_, settled, told := f.settle(byBody, l)
		if settled > 200*time.Millisecond {
			t.Errorf("settling took %v next to a hook that takes an hour", settled)
		}
		if n := len(l.lines()); n != 1 || told < 59*time.Minute {
			t.Errorf("called for %d calls after %v", n, told)
		}
	})
}

// A hook that is warned and blocks delays no settling.
func TestHookForWarningsDelaysNoSettling(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("3:fail")
		f.settling.MaxReceiveCount = 1
		told := make(chan string, 10)
		results, took, _ := f.settle(byBody, onWarning(func(w batch.Warning) { told <- w.Message; time.Sleep(time.Hour) }))
		if took > 200*time.Millisecond || !results[0].VisibilitySet {
			t.Errorf("settled after %v, the backoff is set: %v", took, results[0].VisibilitySet)
		}
		if len(told) != 1 || !strings.Contains(<-told, "left before the dead-letter queue") {
			t.Errorf("%d warnings more", len(told))
		}
	})
}

type onWarning func(batch.Warning)

func (f onWarning) Warned(_ context.Context, w batch.Warning) { f(w) }

func TestAHookForCallsThatPanicsIsContained(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail")
		if results, _, _ := f.settle(byBody, panicking{}); !results[0].VisibilitySet {
			t.Error("the backoff is not set")
		}
		time.Sleep(time.Second)
		f.warnedOnce("the hook Called panicked")
	})
}

type panicking struct{}

func (panicking) Called(context.Context, batch.Call) { panic("hook") }
