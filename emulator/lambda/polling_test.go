package lambda_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// The batches and times of a mapping's invocations. Each message is delivered once, and
// only an environment's first invocation is a cold start.
func TestBatching(t *testing.T) {
	type send struct {
		at time.Duration
		n  int
	}
	type given struct {
		fn         lambda.Function
		takes      time.Duration // the function's duration
		visibility int           // the queue's VisibilityTimeout, defaults to 300
		wait       int           // the queue's ReceiveMessageWaitTimeSeconds
	}
	const s, ms = time.Second, time.Millisecond
	waits := given{wait: 20}
	many := given{fn: lambda.Function{Concurrency: 50}, takes: s}
	busy := given{fn: lambda.Function{Concurrency: 1, Timeout: 20 * s}, takes: 10 * s, visibility: 30}
	for _, c := range []struct {
		name string
		given
		m     lambda.Mapping
		sends []send
		want  []string
	}{
		{"without a window what is there", given{}, lambda.Mapping{}, []send{{0, 25}}, []string{"0s:10", "0s:10", "0s:5"}},
		{"without a window at once", given{}, lambda.Mapping{}, []send{{3 * s, 1}, {7 * s, 1}}, []string{"3s:1", "7s:1"}},
		{"size 1", given{}, lambda.Mapping{BatchSize: 1}, []send{{0, 3}}, []string{"0s:1", "0s:1", "0s:1"}},
		{"the window counts from the first", given{}, lambda.Mapping{BatchSize: 100, Window: 5 * s}, []send{{s, 3}, {3 * s, 2}}, []string{"6s:5"}},
		{"a part of a second at the window's end", given{}, lambda.Mapping{BatchSize: 100, Window: 2 * s}, []send{{s, 1}, {2500 * ms, 1}, {2900 * ms, 1}}, []string{"3s:3"}},
		{"a full batch does not wait", given{}, lambda.Mapping{BatchSize: 20, Window: 60 * s}, []send{{0, 25}}, []string{"0s:20", "1m0s:5"}},
		{"a window with a small batch", given{}, lambda.Mapping{Window: 5 * s}, []send{{0, 3}}, []string{"5s:3"}},
		{"a window longer than a long poll", given{}, lambda.Mapping{Window: 50 * s}, []send{{0, 1}, {45 * s, 1}}, []string{"50s:2"}},
		{"a queue that waits makes a window no longer", waits, lambda.Mapping{Window: 2 * s}, []send{{0, 1}, {500 * ms, 1}}, []string{"2s:2"}},
		{"and its last part of a second is the next batch's", waits, lambda.Mapping{Window: 2 * s}, []send{{0, 1}, {500 * ms, 1}, {1700 * ms, 1}}, []string{"2s:2", "4s:1"}},
		{"several pollers gather a batch each", given{}, lambda.Mapping{Window: 5 * s, Pollers: 3}, []send{{s, 3}}, []string{"6s:1", "6s:1", "6s:1"}},
		{"MaximumConcurrency", many, lambda.Mapping{MaximumConcurrency: 3}, []send{{0, 70}}, []string{"0s:10", "0s:10", "0s:10", "1s:10", "1s:10", "1s:10", "2s:10"}},
		{"while the function is throttled nothing is received", busy, lambda.Mapping{}, []send{{0, 40}}, []string{"0s:10", "10s:10", "20s:10", "30s:10"}},
	} {
		virtualRun(t, c.name, func(w *world) {
			c.m.Function, c.m.QueueURL = w.function(c.fn, taking(c.takes)), w.queue("orders", cmp.Or(c.visibility, 300), c.wait)
			var bodies []string
			send := func(n int) {
				all := numbered(len(bodies) + n)
				w.send(c.m.QueueURL, all[len(bodies):]...)
				bodies = all
			}
			if c.sends[0].at == 0 { // before the first receive, so that it returns these messages
				send(c.sends[0].n)
				c.sends = c.sends[1:]
			}
			stop := w.run(c.m)
			for _, s := range c.sends {
				w.after(s.at)
				send(s.n)
			}
			w.after(100 * time.Second)
			stop()
			w.wantTimes(c.want...)
			w.wantDeleted(bodies...)
			warm := map[int]bool{}
			for _, i := range w.invocations {
				again := func(r lambda.Record) bool { return r.Attempt != 1 }
				if i.ColdStart == warm[i.Environment] || slices.ContainsFunc(i.Records, again) {
					w.Errorf("cold start %v in environment %d; records %v", i.ColdStart, i.Environment, i.Records)
				}
				warm[i.Environment] = true
			}
			if len(w.pollErrors) > 0 {
				w.Errorf("errors %v", w.pollErrors)
			}
		})
	}
}

// A batch ends before its payload exceeds 6 MB. The window of the remaining messages counts
// from their receive.
func TestPayloadCut(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		d := inProcess(w.T, lambda.Function{}, func(_ context.Context, payload []byte) ([]byte, error) {
			if len(payload) > 6<<20 {
				t.Errorf("payload of %d bytes", len(payload))
			}
			return nil, nil
		})
		bodies := numbered(8)
		for i := range bodies {
			bodies[i] += strings.Repeat("x", 1_000_000)
		}
		w.send(url, bodies...)
		w.runUntil(30*time.Second, lambda.Mapping{Function: d, QueueURL: url, BatchSize: 100, Window: 5 * time.Second})
		w.wantTimes("0s:6", "5s:2")
		w.wantDeleted(bodies...)
	})
}

// The pause between failing receives grows, and polling resumes when the queue answers.
func TestReceiveBacksOff(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		ok(t, w.server.Inject(sqs.Fault{Kind: sqs.Refused, Operation: "ReceiveMessage"}))
		w.send(url, "a")
		stop := w.run(lambda.Mapping{QueueURL: url})
		w.after(5 * time.Minute)
		calls := len(w.server.Calls("ReceiveMessage"))
		if calls < 15 || calls > 45 { // 8 while it doubles, then one each 10 to 20 s
			t.Errorf("%d calls in five minutes", calls)
		}
		w.server.ClearFaults()
		w.after(6 * time.Minute)
		stop()
		if len(w.pollErrors) != calls {
			t.Fatalf("%d errors reported of %d", len(w.pollErrors), calls)
		}
		first, last := w.pollErrors[0], w.pollErrors[calls-1]
		if first.RetryIn > 200*time.Millisecond || last.RetryIn < 10*time.Second || !strings.Contains(last.Error(), "connection refused") {
			t.Errorf("first %v, last %v", first, last)
		}
		w.wantDeleted("a")
	})
}

// Messages that are throttled until their visibility timeout ends return to the queue, and
// come back later.
func TestThrottledTooLong(t *testing.T) {
	virtual(t, func(w *world) {
		slow := 2
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 20 * time.Second}, func(context.Context, events.SQSEvent) (string, error) {
			if slow--; slow >= 0 {
				time.Sleep(20*time.Second - 1)
			}
			return "", nil
		})
		one, two := w.queue("one", 30), w.queue("two", 30)
		w.send(one, "1a", "1b", "1c")
		w.send(two, "2a", "2b", "2c")
		stopOne := w.run(lambda.Mapping{Function: d, QueueURL: one, BatchSize: 1})
		stopTwo := w.run(lambda.Mapping{Function: d, QueueURL: two, BatchSize: 1})
		w.after(5 * time.Minute)
		stopOne()
		stopTwo()
		w.wantDeleted("1a", "1b", "1c", "2a", "2b", "2c")
		if len(w.pollErrors) == 0 {
			t.Error("nothing expired: the test shows nothing")
		}
		for _, e := range w.pollErrors {
			if e.Operation != "Invoke" || e.Messages != 1 {
				t.Errorf("error %v", e)
			}
		}
		if !slices.ContainsFunc(w.invocations, func(i lambda.Invocation) bool { return i.Records[0].Attempt > 1 }) {
			t.Errorf("no message came a second time")
		}
	})
}

// At the end the mapping abandons the open receive, releases messages that were not
// invoked, and settles running invocations.
func TestStop(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		d := w.function(lambda.Function{Timeout: 30 * time.Second}, taking(20*time.Second))
		stop := w.run(lambda.Mapping{Function: d, QueueURL: url, BatchSize: 20, Window: 60 * time.Second})
		w.send(url, numbered(23)...)
		w.after(10 * time.Second)
		w.wantTimes("0s:20")
		stopped := make(chan struct{})
		go func() { defer close(stopped); stop() }()
		w.after(10*time.Second + time.Millisecond)
		if got := w.visible(url); len(got) != 3 {
			t.Errorf("released %v, want the 3 that waited", got)
		}
		<-stopped
		if took := time.Since(w.begin); took != 20*time.Second {
			t.Errorf("Run ended after %v, want the invocation's end", took)
		}
		w.wantDeleted(numbered(20)...)
		w.wantTimes("0s:20")
	})
}

// A mapping that is disabled settles running invocations, releases held messages, and
// receives nothing until it is enabled again.
func TestDisableAndEnable(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 60)
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 30 * time.Second}, taking(10*time.Second))
		w.send(url, "a", "b", "c")
		m := lambda.Mapping{Function: d, QueueURL: url, BatchSize: 1}
		w.runUntil(5*time.Second, m) // a runs, b waits for an environment
		w.wantDeleted("a")
		w.after(40 * time.Second)
		w.wantTimes("0s:1")
		w.runUntil(70*time.Second, m)
		w.wantTimes("0s:1", "40s:1", "50s:1")
		w.wantDeleted("a", "b", "c")
	})
}

// A long poll that finds nothing does not delay the end.
func TestStopWhileIdle(t *testing.T) {
	virtual(t, func(w *world) {
		w.runUntil(7*time.Second, lambda.Mapping{QueueURL: w.queue("orders", 30)})
		if took := time.Since(w.begin); took != 7*time.Second {
			t.Errorf("ended at %v, want 7s", took)
		}
	})
}

func TestClosedFunctionEndsTheMapping(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		d := w.function(lambda.Function{}, succeed)
		m := lambda.Mapping{Function: d, SQS: w.client, QueueURL: url, BatchSize: 100, Window: time.Minute}
		done := make(chan error, 1)
		go func() { done <- m.Run(w.ctx) }()
		w.send(url, "a")
		w.after(time.Second)
		_ = d.Close()
		if err := <-done; !errors.Is(err, lambda.ErrClosed) {
			t.Errorf("Run: %v, want ErrClosed", err)
		}
		if got := w.visible(url); !slices.Equal(got, []string{"a"}) {
			t.Errorf("in the queue %v, want the held messages", got)
		}
	})
}
