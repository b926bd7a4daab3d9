package sqs_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// pattern tells which of n sends were struck.
func pattern(t *testing.T, seed uint64, n int, others bool, faults ...sqs.Fault) string {
	var struck strings.Builder
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{Seed: seed, Faults: faults})
		defer server.Close()
		b := &bench{T: t, Client: newClient(server), ctx: t.Context(), server: server}
		queue := b.queue("orders")
		for range n {
			if others {
				b.attributes(queue)
			}
			struck.WriteByte(".x"[btoi(b.try(b.ctx, queue, "a") != nil)])
		}
	})
	return struck.String()
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
		if got := pattern(t, 0, 6, false, throttled(c.fault)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	const n = 400
	some := throttled(sqs.Fault{Probability: 0.25})
	one := pattern(t, 1, n, false, some)
	if count := strings.Count(one, "x"); count < n/4-40 || count > n/4+40 {
		t.Errorf("%d of %d calls struck at a probability of 0.25", count, n)
	}
	if other := pattern(t, 1, n, true, some, sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Probability: 0.5}); other != one {
		t.Error("the same seed struck other calls because of what other calls and faults did")
	}
	if pattern(t, 2, n, false, some) == one {
		t.Error("another seed struck the same calls")
	}
	times := pattern(t, 1, n, false, throttled(sqs.Fault{Probability: 0.25, Times: 3}))
	if strings.Count(times, "x") != 3 {
		t.Error("Times counts calls that were not struck")
	}
}
