package settle_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	sqsemu "github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const second = time.Second

// newSettler returns a Settler for a queue with a maxReceiveCount: 0 stands for a queue
// without RedrivePolicy, below 0 for one whose policy is not known.
func newSettler(t *testing.T, outage time.Duration, most int) *settle.Policy {
	t.Helper()
	noClient := func(context.Context) (*sqs.Client, error) { return nil, errors.New("not to be called") }
	s := settle.New(settle.Config{Client: noClient, Config: partialfailure.Config{Outage: outage}})
	switch {
	case most == 0:
		s.Know(standardARN, "", map[string]string{})
	case most > 0:
		s.Know(standardARN, "", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:dead","maxReceiveCount":` + strconv.Itoa(most) + `}`})
	}
	return s
}

const standardARN = "arn:aws:sqs:eu-west-1:123456789012:orders"

// draws are the backoffs of 400 records that failed at one attempt, in order.
func draws(s *settle.Policy, attempt int) []time.Duration {
	list := make([]time.Duration, 400)
	for i := range list {
		list[i] = s.Backoff(&batch.Record{MessageID: fmt.Sprintf("id-%d", i), Attempt: attempt, QueueARN: standardARN}, time.Now())
	}
	slices.Sort(list)
	return list
}

// Receives that were no attempts have used up attempts of the schedule, but not its time: before the
// last attempt a record waits until the outage is over, counted from its first receive.
func TestBackoff_BeforeTheLastAttemptIsTheRestOfTheOutage(t *testing.T) {
	s := newSettler(t, time.Hour, 5)
	now := time.Now()
	for _, c := range []struct {
		attempt     int
		first       time.Time
		least, most time.Duration
	}{
		{4, now, time.Hour, 90 * time.Minute},
		{4, now.Add(-time.Minute), 59 * time.Minute, 89 * time.Minute},
		{4, now.Add(time.Minute), time.Hour, 90 * time.Minute}, // clocks differ
		{4, time.Time{}, 30 * time.Minute, 59 * time.Minute},   // it is not known
		{3, now, time.Minute, 20 * time.Minute},
	} {
		shortest := time.Duration(math.MaxInt64)
		for i := range 400 {
			shortest = min(shortest, s.Backoff(&batch.Record{MessageID: fmt.Sprint(i), Attempt: c.attempt, FirstReceivedAt: c.first, QueueARN: standardARN}, now))
		}
		if shortest < c.least || shortest > c.most {
			t.Errorf("attempt %d, first received at %v: %v, want %v to %v", c.attempt, c.first.Sub(now), shortest, c.least, c.most)
		}
	}
}

func TestDelays_AddUpToTheOutage(t *testing.T) {
	for _, c := range []struct {
		outage time.Duration
		most   int
		want   []time.Duration // of the first attempts, without jitter
		over   time.Duration   // those before the last
	}{
		{0, 2, []time.Duration{900 * second, 4 * second}, 15 * time.Minute},
		{0, 3, []time.Duration{2 * second, 898 * second, 8 * second}, 15 * time.Minute},
		{0, 5, []time.Duration{2 * second, 15 * second, 107 * second, 777 * second, 32 * second}, 15*time.Minute + second},
		{0, 8, []time.Duration{2 * second}, 15 * time.Minute},
		{0, 20, []time.Duration{2 * second}, 15 * time.Minute},
		{0, 1000, []time.Duration{second, second, second}, 999 * second},
		{0, -1, []time.Duration{2 * second, 15 * second, 107 * second, 777 * second}, 0},
		{0, 0, []time.Duration{2 * second, 4 * second, 8 * second}, 0},
		{second, 3, []time.Duration{second, second, second}, 2 * second},
		{7 * time.Hour, 2, []time.Duration{7 * time.Hour}, 7 * time.Hour},
	} {
		t.Run(fmt.Sprint(c.most, " receives and ", c.outage), func(t *testing.T) {
			s := newSettler(t, c.outage, c.most)
			var sum time.Duration
			for attempt := 1; attempt < max(c.most, len(c.want)+1); attempt++ {
				drawn := draws(s, attempt)
				d := drawn[0] // of a long delay, not quite the least
				if attempt <= len(c.want) && (d < c.want[attempt-1] || d > c.want[attempt-1]*101/100) {
					t.Errorf("attempt %d: at least %v, want %v", attempt, d, c.want[attempt-1])
				}
				if attempt < c.most {
					sum += d
				}
				longest := d + max(d/2, 3*second).Truncate(second)
				if last := drawn[len(drawn)-1]; last > longest || last < d+(longest-d)*8/10 {
					t.Errorf("attempt %d: at most %v, want %v or a little less", attempt, last, longest)
				}
				if _, n := mode(drawn); n > len(drawn)*4/10 {
					t.Errorf("attempt %d: %d of %d come back at the same time", attempt, n, len(drawn))
				}
			}
			if c.over > 0 && (sum < c.over || sum > c.over*101/100+time.Duration(min(c.most, 20))*second) {
				t.Errorf("the delays add up to %v, want %v", sum, c.over)
			}
		})
	}
}

// mode is the most frequent of sorted values.
func mode(sorted []time.Duration) (value time.Duration, n int) {
	run := 0
	for i, d := range sorted {
		if i == 0 || d != sorted[i-1] {
			run = 0
		}
		if run++; run > n {
			value, n = d, run
		}
	}
	return value, n
}

func TestMaxReceiveCountOne_HasNoDelay(t *testing.T) {
	if drawn := draws(newSettler(t, 0, 1), 1); drawn[0] != 0 || drawn[len(drawn)-1] != 0 {
		t.Errorf("%v to %v, want none", drawn[0], drawn[len(drawn)-1])
	}
}

// The configuration says 1, and SQS delivers the record again: without a delay it would be
// tried in a loop.
func TestAttemptBeyondMaxReceiveCountOne_HasADelay(t *testing.T) {
	s, least := newSettler(t, 0, 1), 2*time.Second
	for attempt := 2; attempt < 8; attempt++ {
		least *= 2
		if drawn := draws(s, attempt); drawn[0] != least {
			t.Errorf("attempt %d comes back after %v at the earliest, want %v", attempt, drawn[0], least)
		}
	}
}

func TestRecordsOfAGroup_GetTheSameDelay(t *testing.T) {
	s := newSettler(t, 0, 5)
	var seen []time.Duration
	for i := range 20 {
		seen = append(seen, s.Backoff(&batch.Record{MessageID: fmt.Sprint(i), GroupID: "g", Attempt: 3, QueueARN: standardARN + ".fifo"}, time.Now()))
	}
	if slices.Min(seen) != slices.Max(seen) {
		t.Errorf("%v to %v", slices.Min(seen), slices.Max(seen))
	}
}

// outlives delivers a message that fails every time, as a Lambda function would be given
// it, until SQS gives up on it, and returns for how long it was retried.
func (f *fixture) outlives(h batch.HandlerFunc) time.Duration {
	f.t.Helper()
	f.settling.Backoff = nil
	f.Send("fail")
	var first time.Time
	for range 100_000 {
		records := f.Receive(1)
		if len(records) == 0 {
			if len(f.DeadLetters()) == 1 {
				return time.Since(first)
			}
			time.Sleep(5 * second)
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		f.engine.MinRemaining = 0
		if h == nil && records[0].Attempt <= 2 {
			f.engine.MinRemaining = time.Hour // too little is left
		}
		f.invoke(records, func(ctx context.Context, r batch.Record) error {
			if h == nil {
				return errors.New("down")
			}
			return h(ctx, r)
		})
	}
	f.t.Fatal("SQS never gave up on the record")
	return 0
}

func TestRecordKeepsFailing_OutlivesTheOutage(t *testing.T) {
	for name, c := range map[string]struct {
		outage  time.Duration
		refuses string // an operation that SQS refuses
		h       func() batch.HandlerFunc
	}{
		"failing every time": {0, "", func() batch.HandlerFunc { return byBody }},
		"an hour":            {time.Hour, "", func() batch.HandlerFunc { return byBody }},
		"when the queue does not say its maxReceiveCount": {0, "GetQueueAttributes", func() batch.HandlerFunc { return byBody }},
		"throttled at first, which is no attempt": {0, "", func() batch.HandlerFunc {
			n := 0
			return func(context.Context, batch.Record) error {
				if n++; n <= 3 {
					return batch.RetryAfter(second, errors.New("throttled"))
				}
				return errors.New("down")
			}
		}},
		"not started at first, which is no attempt": {0, "", func() batch.HandlerFunc { return nil }},
		"put off by an abort of a moment": {0, "", func() batch.HandlerFunc {
			return func(context.Context, batch.Record) error { return batch.Abort(second, errors.New("down")) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.settling.Outage = c.outage
				f.Fault = func(operation string, r *http.Request) (*http.Response, error) {
					if operation == c.refuses {
						return testqueue.Answer(r, 403, "AccessDenied", "")
					}
					return nil, nil
				}
				outage := c.outage
				if outage == 0 {
					outage = 15 * time.Minute
				}
				if got := f.outlives(c.h()); got < outage || got > outage*3/2+time.Minute {
					t.Errorf("given up after %v, want %v at least, and half more at most", got, outage)
				}
			})
		})
	}
}

func TestRetryAfter_IsExactAndAbortIsAtLeast(t *testing.T) {
	for name, c := range map[string]struct {
		err         error
		attempt     int
		least, most time.Duration
	}{
		"RetryAfter":         {batch.RetryAfter(second, errors.New("busy")), 4, second, second},
		"a long Abort":       {batch.Abort(10*time.Minute, errors.New("down")), 1, 10 * time.Minute, 10 * time.Minute},
		"a short Abort":      {batch.Abort(second, errors.New("down")), 3, 107 * second, 160 * second},
		"an Abort of 0":      {batch.Abort(0, errors.New("down")), 3, 0, 0},
		"nothing asked for":  {errors.New("down"), 3, 107 * second, 160 * second},
		"RetryAfter of 0":    {batch.RetryAfter(0, errors.New("busy")), 3, 0, 0},
		"the first attempt":  {errors.New("down"), 1, 2 * second, 5 * second},
		"at the last but 1":  {errors.New("down"), 4, 900 * second, 1350 * second}, // received for the first time just now
		"at the last":        {errors.New("down"), 5, 32 * second, 48 * second},
		"beyond the maximum": {errors.New("down"), 50, 900 * second, 1350 * second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.settling.Backoff = nil
				f.Send("x")
				records := f.Receive(1)
				records[0].Attempt = c.attempt
				r := f.invoke(records, func(context.Context, batch.Record) error { return c.err })[0]
				if !r.VisibilitySet || r.VisibleIn < c.least || r.VisibleIn > c.most {
					t.Errorf("visible in %v (%v), want %v to %v", r.VisibleIn, r.VisibilitySet, c.least, c.most)
				}
				if e := f.Events(sqsemu.Visibility); len(e) != 1 || e[0].Visibility > c.most || e[0].Visibility < c.least-second {
					t.Errorf("changes of visibility: %+v", e)
				}
			})
		})
	}
}

func TestRetrySchedule_IsReportedOnce(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.outlives(byBody)
		if want := []string{"a record that fails gets 5 attempts over at least 15m1s"}; !slices.Equal(f.said, want) {
			t.Errorf("said %q, want %q", f.said, want)
		}
	})
	for most, want := range map[int]string{
		0: "no RedrivePolicy", 1: "is not retried; AWS recommends at least 5", 3: "3 attempts over at least 15m0s; AWS recommends a maxReceiveCount of at least 5", 5: "5 attempts over at least 15m1s", 1000: "1000 attempts over at least 16m39s",
	} {
		if text := newSettler(t, 0, most).Schedule(standardARN); !strings.Contains(text, want) {
			t.Errorf("maxReceiveCount %d: %q, want %q", most, text, want)
		}
	}
	if text := newSettler(t, 0, -1).Schedule(standardARN); text != "" {
		t.Errorf("of a queue that is not known: %q", text)
	}
}

var update = flag.Bool("update", false, "write the schedule into docs/outages.md")

// docs/outages.md has the waits as they are, and the sums that its text names.
func TestThePageHasTheSchedule(t *testing.T) {
	const page = "../../docs/outages.md"
	table := "| `maxReceiveCount` | waits in seconds, without jitter | together at least | with all jitter |\n| --- | --- | --- | --- |\n"
	for _, most := range []int{3, 5, 8, 10, 20} {
		var waits []string
		var least, longest time.Duration
		for attempt := 1; attempt < most; attempt++ {
			a, b := bounds(t, most, attempt)
			waits, least, longest = append(waits, fmt.Sprint(int(a.Seconds()))), least+a, longest+b
		}
		table += fmt.Sprintf("| %d | %s | %v | %v |\n", most, strings.Join(waits, ", "), least, longest)
	}
	docpage.RequireSection(t, page, "schedule", table, *update)
	text := docpage.Read(t, page)
	for _, say := range []string{"| 5 | 2, 15, 107, 777 | 15m1s | 22m", "5 attempts over at least 15m1s", "for 15 to 23 minutes", "with 5 for 32 to 48 s"} {
		if !strings.Contains(text, say) {
			t.Errorf("the page does not say %q", say)
		}
	}
	if a, b := bounds(t, 5, 5); a != 32*second || b != 48*second {
		t.Errorf("after the last attempt of 5 it is hidden for %v to %v", a, b)
	}
}

// bounds are the shortest and the longest that a record waits after it failed at an
// attempt: so many records draw every value.
func bounds(t *testing.T, most, attempt int) (shortest, longest time.Duration) {
	t.Helper()
	s := newSettler(t, 0, most)
	for i := range 6000 {
		d := s.Backoff(&batch.Record{MessageID: fmt.Sprint(i), Attempt: attempt, QueueARN: standardARN}, time.Now())
		if longest = max(longest, d); i == 0 || d < shortest {
			shortest = d
		}
	}
	if want := shortest + max(shortest/2, 3*second).Truncate(second); longest != want {
		t.Fatalf("attempt %d of %d: drew %v to %v, want up to %v", attempt, most, shortest, longest, want)
	}
	return shortest, longest
}
