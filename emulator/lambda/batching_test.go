package lambda_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

func TestBatching(t *testing.T) {
	type send struct {
		at time.Duration
		n  int
	}
	cases := []struct {
		name   string
		size   int
		window time.Duration
		sends  []send
		want   []string
	}{
		{"without a window what is there", 10, 0, []send{{0, 25}}, []string{"0s:10", "0s:10", "0s:5"}},
		{"without a window at once", 10, 0, []send{{3 * time.Second, 1}, {7 * time.Second, 1}}, []string{"3s:1", "7s:1"}},
		{"size 1", 1, 0, []send{{0, 3}}, []string{"0s:1", "0s:1", "0s:1"}},
		{"the window counts from the first", 100, 5 * time.Second, []send{{time.Second, 3}, {3 * time.Second, 2}}, []string{"6s:5"}},
		{"a part of a second at the window's end", 100, 2 * time.Second, []send{{time.Second, 1}, {2500 * time.Millisecond, 1}, {2900 * time.Millisecond, 1}}, []string{"3s:3"}},
		{"a full batch does not wait", 20, 60 * time.Second, []send{{0, 25}}, []string{"0s:20", "1m0s:5"}},
		{"a window with a small batch", 10, 5 * time.Second, []send{{0, 3}}, []string{"5s:3"}},
		{"a window longer than a long poll", 10, 50 * time.Second, []send{{0, 1}, {45 * time.Second, 1}}, []string{"50s:2"}},
	}
	for _, c := range cases {
		virtualRun(t, c.name, func(w *world) {
			url := w.queue("orders", 300)
			var bodies []string
			send := func(n int) {
				all := numbered(len(bodies) + n)
				w.send(url, all[len(bodies):]...)
				bodies = all
			}
			if c.sends[0].at == 0 { // before the first receive, which takes what is there
				send(c.sends[0].n)
				c.sends = c.sends[1:]
			}
			stop := w.run(lambda.Mapping{QueueURL: url, BatchSize: c.size, Window: c.window})
			for _, s := range c.sends {
				w.after(s.at)
				send(s.n)
			}
			w.after(100 * time.Second)
			stop()
			w.wantTimes(c.want...)
			w.wantDeleted(bodies...)
		})
	}
}

// A queue with a ReceiveMessageWaitTimeSeconds does not make a window longer;
// what comes in its last part of a second is the next batch's.
func TestWindowOfAQueueThatWaits(t *testing.T) {
	for late, want := range map[string][]string{"": {"2s:2"}, "c": {"2s:2", "4s:1"}} {
		virtual(t, func(w *world) {
			url := w.queue("orders", 300)
			_, err := w.client.SetQueueAttributes(w.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"ReceiveMessageWaitTimeSeconds": "20"}})
			ok(t, err)
			stop := w.run(lambda.Mapping{QueueURL: url, Window: 2 * time.Second})
			w.send(url, "a")
			w.after(500 * time.Millisecond)
			w.send(url, "b")
			w.after(1700 * time.Millisecond)
			if late != "" {
				w.send(url, late)
			}
			w.after(time.Minute)
			stop()
			w.wantTimes(want...)
		})
	}
}

// A batch ends before its payload passes 6 MB; the rest follows, its window
// counted from its own receive.
func TestPayloadCut(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		var sizes []int
		d := inProcess(w.T, lambda.Function{}, func(_ context.Context, payload []byte) ([]byte, error) {
			sizes = append(sizes, len(payload))
			return nil, nil
		})
		for _, body := range numbered(8) {
			w.send(url, body+strings.Repeat("x", 1_000_000))
		}
		w.runUntil(30*time.Second, lambda.Mapping{Function: d, QueueURL: url, BatchSize: 100, Window: 5 * time.Second})
		w.wantTimes("0s:6", "5s:2")
		for _, size := range sizes {
			if size > 6<<20 {
				t.Errorf("payload of %d bytes", size)
			}
		}
		if len(w.deleted) != 8 {
			t.Errorf("deleted %d, want 8", len(w.deleted))
		}
	})
}

// A queue that does not answer is asked less and less, and again when it does.
func TestReceiveBacksOff(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		calls := 0
		down := errors.New("connection refused")
		w.intercept = func(operation string, _ []byte) (*http.Response, error) {
			if operation == "ReceiveMessage" && time.Since(w.begin) < 5*time.Minute {
				calls++
				return nil, down
			}
			return nil, nil
		}
		w.send(url, "a")
		w.runUntil(6*time.Minute, lambda.Mapping{QueueURL: url})
		if calls < 15 || calls > 45 { // 8 while it doubles, then one each 10 to 20 s
			t.Errorf("%d calls in five minutes", calls)
		}
		if len(w.pollErrors) != calls {
			t.Fatalf("%d errors told of %d", len(w.pollErrors), calls)
		}
		first, last := w.pollErrors[0], w.pollErrors[calls-1]
		if first.RetryIn > 200*time.Millisecond || last.RetryIn < 10*time.Second || !errors.Is(last, down) {
			t.Errorf("first %v, last %v", first, last)
		}
		w.wantDeleted("a")
	})
}
