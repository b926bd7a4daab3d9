package longpoll_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// poison has SQS refuse every call of an operation, as a whole, that has the
// receipt handle of one record, once that is known.
func (w *world) poison(operation, code string, handle *atomic.Pointer[string]) {
	w.Fault = func(op string, r *http.Request) (*http.Response, error) {
		if op != operation || handle.Load() == nil {
			return nil, nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		if strings.Contains(string(text), *handle.Load()) {
			return testqueue.Answer(r, 400, code, "")
		}
		return nil, nil
	}
}

// An extension that is refused because of one record extends the others.
func TestExtensionRefusedForOneRecord_OthersAreExtended(t *testing.T) {
	for code, lost := range map[string]int{"InvalidSomething": 0, "ReceiptHandleIsInvalid": 1} {
		var poisoned atomic.Pointer[string]
		h := func(ctx context.Context, r batch.Record) error {
			if r.Body == "3" {
				poisoned.CompareAndSwap(nil, &r.ReceiptHandle)
			}
			select {
			case <-time.After(100 * time.Second):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 10 }, func(w *world) {
			w.poison(extension, code, &poisoned)
			w.sendMany(10)
			w.start()
			w.after(105 * time.Second)
			if s := w.p.Status(); s.Counts.Lost != lost || s.Counts.Succeeded < 9 {
				t.Errorf("%s: lost %d, succeeded %d", code, s.Counts.Lost, s.Counts.Succeeded)
			}
			for _, body := range numbered(10, "") {
				if n := len(w.returned(body)); n > 0 && body != "3" {
					t.Errorf("%s: record %s came back %d times", code, body, n)
				}
			}
		})
	}
}

// A release that is refused because of one record releases the others.
func TestReleaseRefusedForOneRecord_OthersAreReleased(t *testing.T) {
	inWorld(t, standardQueue, heeding, func(c *longpoll.Config) { c.Engine.Concurrency, c.DrainLimit = 10, time.Second }, func(w *world) {
		var mu sync.Mutex
		poisoned := ""
		w.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op != extension { // a release is the same operation
				return nil, nil
			}
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(strings.NewReader(string(text)))
			mu.Lock()
			defer mu.Unlock()
			if poisoned == "" { // the first of the first call
				_, poisoned, _ = strings.Cut(string(text), `"ReceiptHandle":"`)
				poisoned, _, _ = strings.Cut(poisoned, `"`)
			}
			if strings.Contains(string(text), poisoned) {
				return testqueue.Answer(r, 400, "InvalidSomething", "")
			}
			return nil, nil
		}
		w.sendMany(10)
		w.start()
		w.after(time.Second)
		w.stop()
		if n := w.visible(); n != 9 {
			t.Errorf("%d of 10 are visible, want all but one", n)
		}
	})
}

// A receive that is asked to come back later does so by the poller's own schedule,
// and takes no longer than its bound, whatever the SDK's retries do.
func TestRetryAfterHeader_DelaysNoCall(t *testing.T) {
	for _, newRetries := range []string{"", "true"} {
		t.Run(newRetries, func(t *testing.T) {
			t.Setenv("AWS_NEW_RETRIES_2026", newRetries)
			o := &operator{}
			inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(o)) }, func(w *world) {
				for _, operation := range []string{receiving, deletion, extension} {
					w.inject(sqs.Fault{Kind: sqs.Throttled, Operation: operation, RetryAfter: 10 * time.Second, Times: 3})
				}
				w.sendMany(5)
				w.start()
				w.after(15 * time.Second)
				if w.deleted() != 5 {
					t.Errorf("%d of 5 were deleted in 15 s", w.deleted())
				}
				o.mu.Lock()
				defer o.mu.Unlock()
				if slices.ContainsFunc(o.calls, func(c batch.Call) bool { return c.Err != nil && c.Duration > time.Second }) {
					t.Errorf("calls %+v", o.calls)
				}
			})
		})
	}
}

// The SDK's own read timeout, which it reads of the environment once, must outlast
// a long poll.
func TestSDKReadTimeout_OutlastsALongPoll(t *testing.T) {
	const name = "AWS_ENABLE_DEFAULT_SOCKET_TIMEOUT_2026"
	if os.Getenv(name) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), name+"=true")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	client, isBuildable := awssqs.New(awssqs.Options{Region: "eu-west-1"}).Options().HTTPClient.(*awshttp.BuildableClient)
	if !isBuildable {
		t.Fatal("the client has no timeouts to look at")
	}
	if timeout, set := client.GetReadTimeout(); !set || timeout < 30*time.Second {
		t.Errorf("the read timeout is %v (%v), want one of more than a receive's bound of 30 s", timeout, set)
	}
}
