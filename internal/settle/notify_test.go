package settle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	emulator "github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
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

// settle handles what is in the queue, and returns how long settling took after
// the last handler, and after that until the hooks had been notified.
func (f *fixture) settle(l *listener, handle batch.HandlerFunc) (settled, told time.Duration) {
	f.t.Helper()
	f.hooks, f.queue = testhooks.Of(f, l), batch.QueueName(f.ARN)
	engine := f.newEngine(handle)
	cfg := f.settling
	cfg.Hooks = engine.Hooks
	cfg.Client = func(context.Context) (*sqs.Client, error) { return f.Client, nil }
	settler := settle.New(cfg)
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	times := engine.Times(ctx)
	records := f.Receive(100)
	st := settler.Begin(ctx, records, times.SettleBy)
	results := engine.Run(ctx, records, st.Options(times))
	ran := time.Now()
	st.Settle(results)
	finished := time.Now()
	st.AwaitHooks()
	return finished.Sub(ran), time.Since(finished)
}

func TestHooksAreToldOfCalls(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("ok", "1:fail", "2:fail", "never")
		f.settling.DeleteIfOthersFail = true
		if err := f.Server().Inject(emulator.Fault{Kind: emulator.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Times: 1},
			emulator.Fault{Kind: emulator.Failure, Operation: "DeleteMessageBatch", Code: "AccessDenied"}); err != nil {
			t.Fatal(err)
		}
		l := &listener{}
		f.settle(l, byBody)
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
			if c.Started.IsZero() || c.Started.After(time.Now()) {
				t.Errorf("%s was made at %v", c.Operation, c.Started)
			}
		}
	})
}

// Entries that are throttled are distinguished from those that fail otherwise.
func TestHooksAreToldOfThrottledEntries(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail", "2:fail", "3:fail", "4:fail", "5:fail")
		if err := f.Server().Inject(emulator.Fault{Kind: emulator.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Code: "RequestThrottled", Times: 2},
			emulator.Fault{Kind: emulator.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Times: 1}); err != nil {
			t.Fatal(err)
		}
		l := &listener{}
		f.settle(l, byBody)
		failed, throttled := 0, 0
		for _, c := range l.calls {
			failed, throttled = failed+c.Failed, throttled+c.Throttled
		}
		if failed != 3 || throttled != 2 {
			t.Errorf("called for %d entries that failed, %d of them throttled; want 3 and 2", failed, throttled)
		}
	})
}

// A hook that takes long delays no settling. Package handler limits how long it is waited for.
func TestAHookForCallsDelaysNoSettling(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail")
		l := &listener{takes: time.Hour}
		settled, told := f.settle(l, byBody)
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
		hooks := hooks.New(testhooks.Of(onWarning(func(w batch.Warning) { told <- w.Message; time.Sleep(time.Hour) })))
		f.settling.Hooks = hooks
		f.settling.Client = func(context.Context) (*sqs.Client, error) { return f.Client, nil }
		settler := settle.New(f.settling)
		engine := f.newEngine(byBody)
		ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
		defer cancel()
		times := engine.Times(ctx)
		records := f.Receive(10)
		st := settler.Begin(ctx, records, times.SettleBy)
		results := engine.Run(ctx, records, st.Options(times))
		began := time.Now()
		st.Settle(results)
		if took := time.Since(began); took > 200*time.Millisecond || !results[0].VisibilitySet {
			t.Errorf("settled after %v, the backoff is set: %v", took, results[0].VisibilitySet)
		}
		st.AwaitHooks()
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
		f.hooks = testhooks.Of(f, panicking{})
		engine := f.newEngine(byBody)
		f.settling.Hooks = engine.Hooks
		f.settling.Client = func(context.Context) (*sqs.Client, error) { return f.Client, nil }
		f.settler = settle.New(f.settling)
		results := f.invoke(f.Receive(1), byBody)
		if !results[0].VisibilitySet {
			t.Error("the backoff is not set")
		}
		time.Sleep(time.Second)
		f.warnedOnce("the hook Called panicked")
	})
}

type panicking struct{}

func (panicking) Called(context.Context, batch.Call) { panic("hook") }
