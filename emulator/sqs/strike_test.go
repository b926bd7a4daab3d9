package sqs_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// struck tells which of n sends the last of the faults struck.
func struck(t *testing.T, seed uint64, n int, others bool, faults ...sqs.Fault) string {
	var seen strings.Builder
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sqs.Options{Seed: seed, Faults: faults})
		queue := b.queue("orders")
		for range n {
			if others {
				b.attributes(queue)
			}
			_ = b.try(b.ctx, queue, "a")
		}
		for _, call := range b.server.Calls("SendMessage") {
			seen.WriteByte(".x"[btoi(call.Fault == last(faults).Kind)])
		}
	})
	return seen.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestWhichCallsAreStruck(t *testing.T) {
	throttled := func(f sqs.Fault) sqs.Fault { f.Kind, f.Operation = sqs.Throttled, "SendMessage"; return f }
	for name, c := range map[string]struct {
		fault sqs.Fault
		want  string
	}{
		"every one":           {sqs.Fault{}, "xxxxxx"},
		"all but the first":   {sqs.Fault{Skip: 1}, ".xxxxx"},
		"two of them":         {sqs.Fault{Skip: 3, Times: 2}, "...xx."},
		"of this queue":       {sqs.Fault{Queue: "orders"}, "xxxxxx"},
		"of another queue":    {sqs.Fault{Queue: "order"}, "......"},
		"another probability": {sqs.Fault{Probability: 1}, "xxxxxx"},
	} {
		equal(t, name, struck(t, 0, 6, false, throttled(c.fault)), c.want)
	}
	const n = 400
	some := throttled(sqs.Fault{Probability: 0.25})
	one := struck(t, 1, n, false, some)
	if count := strings.Count(one, "x"); count < n/4-40 || count > n/4+40 {
		t.Errorf("%d of %d calls struck at a probability of 0.25", count, n)
	}
	if other := struck(t, 1, n, true, sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Probability: 0.5}, some); other != one {
		t.Error("the same seed struck other calls because of what other calls and faults did")
	}
	if struck(t, 2, n, false, some) == one {
		t.Error("another seed struck the same calls")
	}
	times := struck(t, 1, n, false, throttled(sqs.Fault{Probability: 0.25, Times: 3}))
	equal(t, "calls struck with Times 3", strings.Count(times, "x"), 3)
}

// The calls that a fault strikes do not depend on the faults next to it, were
// they injected before it or strike its calls first.
func TestFaultsAreIndependent(t *testing.T) {
	const n = 100
	struck := func(faults ...sqs.Fault) string { return struck(t, 7, n, false, faults...) }
	failure := sqs.Fault{Kind: sqs.Failure, Operation: "SendMessage", Probability: 0.3}
	alone := struck(failure)
	for name, other := range map[string]sqs.Fault{
		"of another operation": {Kind: sqs.Latency, Latency: time.Second, Operation: "PurgeQueue"},
		"that acts first":      {Kind: sqs.Latency, Latency: time.Second},
		"of another error":     {Kind: sqs.Failure, Operation: "PurgeQueue"},
	} {
		equal(t, "next to a fault "+name, struck(other, failure), alone)
	}
	lost := sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessage", Probability: 0.5}
	want := []byte(struck(lost))
	for i := range want {
		if alone[i] == 'x' {
			want[i] = '.' // a call that fails has no effect whose answer could be lost
		}
	}
	equal(t, "next to failures", struck(failure, lost), string(want))
	// What strikes instead of it takes a call, and none of the others.
	equal(t, "next to five refused calls", struck(sqs.Fault{Kind: sqs.Refused, Operation: "SendMessage", Times: 5}, failure), "....."+alone[5:])
	twice := struck(sqs.Fault{Kind: sqs.Refused, Operation: "SendMessage", Times: 5}, sqs.Fault{Kind: sqs.Failure, Operation: "SendMessage", Times: 2})
	if !strings.HasPrefix(twice, ".....xx...") {
		t.Errorf("%s: the calls that another fault struck are of its Times", twice)
	}
	// With a higher probability it strikes the same calls, and others.
	more := failure
	more.Probability = 0.6
	for i, c := range []byte(struck(more)) {
		if c == '.' && alone[i] == 'x' {
			t.Errorf("call %d is struck at a probability of 0.3, not at 0.6", i)
		}
	}
	// Two that are the same are two.
	if alone == struck(failure, failure) {
		t.Error("two faults that are alike strike the same calls")
	}
}
