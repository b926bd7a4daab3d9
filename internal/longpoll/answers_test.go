package longpoll_test

import (
	"context"
	"errors"
	"fmt"
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

// bodyOf reads a request's body, and leaves it to be read again.
func bodyOf(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	return string(b)
}

// intercept has f asked before each call, one call at a time, while it is turned
// on. It is for before the start, since calls read the field that it sets.
func (w *world) intercept(f func(operation, body string, r *http.Request) (*http.Response, error)) (turn func(on bool)) {
	var mu sync.Mutex
	is := false
	w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
		body := bodyOf(r)
		mu.Lock()
		defer mu.Unlock()
		if !is {
			return nil, nil
		}
		return f(operation, body, r)
	}
	return func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		is = on
	}
}

// An attempt id is used again for a receive that got no answer, and no more
// once SQS has refused it.
func TestReceiveAttemptID_IsKeptUntilAnswered(t *testing.T) {
	for _, code := range []string{"InvalidParameterValue", "InternalError", "RequestThrottled"} {
		inWorld(t, fifoQueue, ok, nil, func(w *world) {
			used := map[string]int{}
			broken := false
			turn := w.intercept(func(operation, body string, r *http.Request) (*http.Response, error) {
				if operation != "ReceiveMessage" {
					return nil, nil
				}
				_, id, _ := strings.Cut(body, `"ReceiveRequestAttemptId":"`)
				id, _, _ = strings.Cut(id, `"`)
				used[id]++
				switch {
				case !broken:
					broken = true
					return nil, errors.New("connection reset")
				case used[id] > 1:
					return testqueue.Answer(r, http.StatusBadRequest, code, "")
				}
				return nil, nil
			})
			w.start()
			w.after(time.Second)
			turn(true)
			w.after(25 * time.Second) // the open one ends, the next is broken, the next refused
			w.Send("g:1")
			w.after(5 * time.Second)
			turn(false)
			w.wantHandled("g:1")
			again := 0
			for id, n := range used {
				if n > 2 {
					t.Errorf("%s: attempt id %s was used %d times, want twice", code, id, n)
				}
				again += n - 1
			}
			if again != 1 {
				t.Errorf("%s: %d ids were used again, want the one that got no answer", code, again)
			}
		})
	}
}

// Something that answers long polls at once, and empty, is not asked all the time.
func TestEmptyAnswersAtOnce_ReceivesPause(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		var on atomic.Bool
		var calls atomic.Int32
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation != "ReceiveMessage" || !on.Load() {
				return nil, nil
			}
			calls.Add(1)
			time.Sleep(2 * time.Millisecond)
			return testqueue.Answer(r, http.StatusOK, "", `{}`)
		}
		w.start()
		w.after(time.Second)
		on.Store(true)
		w.after(40 * time.Second) // of which the first 20 s are an open receive's
		on.Store(false)
		if n := calls.Load(); n < 10 || n > 22 {
			t.Errorf("%d receives in 20 s, want one a second", n)
		}
		w.Send("a")
		w.after(2 * time.Second)
		w.wantHandled("a")
	})
}

// A record of a group that is lost while the one before it runs does not cancel
// that one, and is not started.
func TestLeaseRevokedWhileWaiting_RunningRecordGoesOn(t *testing.T) {
	inWorld(t, fifoQueue, lasting(2*time.Minute), func(c *longpoll.Config) { c.Visibility = time.Minute }, func(w *world) {
		handles := map[string]string{}
		refused := ""
		turn := w.intercept(func(operation, body string, r *http.Request) (*http.Response, error) {
			if operation != extension || refused != "" {
				return nil, nil
			}
			var good, bad []string
			for _, entry := range strings.Split(body, `"Id":"`)[1:] {
				id, _, _ := strings.Cut(entry, `"`)
				if strings.Contains(entry, handles["g:2"]) {
					refused = id
					bad = append(bad, fmt.Sprintf(`{"Id":%q,"Code":"AWS.SimpleQueueService.MessageNotInflight","SenderFault":true}`, id))
				} else {
					good = append(good, fmt.Sprintf(`{"Id":%q}`, id))
				}
			}
			return testqueue.Answer(r, http.StatusOK, "", fmt.Sprintf(`{"Successful":[%s],"Failed":[%s]}`, strings.Join(good, ","), strings.Join(bad, ",")))
		})
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(time.Second)
		for _, e := range w.Events(sqs.Received) {
			handles[e.Body] = e.ReceiptHandle
		}
		turn(true)
		w.after(3 * time.Minute)
		turn(false)
		if refused == "" {
			t.Fatal("no extension was refused: the test tests nothing")
		}
		w.after(10 * time.Minute)
		w.wantHandled("g:1", "g:2", "g:3")
		if list := w.outcomes(); len(list) == 0 || list[0] != batch.Succeeded {
			t.Errorf("the hooks got %v, want the first to succeed", list)
		}
	})
}

// poison has SQS refuse every call of an operation, as a whole, that has the
// receipt handle of one record, once that is known.
func (w *world) poison(operation, code string, handle *atomic.Pointer[string]) {
	w.Fault = func(op string, r *http.Request) (*http.Response, error) {
		if op != operation || handle.Load() == nil {
			return nil, nil
		}
		text := bodyOf(r)
		if strings.Contains(text, *handle.Load()) {
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
				w.wantDeleted(5)
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
