package settle_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

var refused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// unanswered are the ways in which a call gets no answer that can be read.
var unanswered = map[string]func(f *fixture, op string, r *http.Request) (*http.Response, error){
	"refused": func(*fixture, string, *http.Request) (*http.Response, error) { return nil, refused },
	"no such host": func(*fixture, string, *http.Request) (*http.Response, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "sqs.eu-west-1.amazonaws.com", IsNotFound: true}
	},
	"reset": func(*fixture, string, *http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET },
	"hanging": func(_ *fixture, _ string, r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	},
	"cut off": func(f *fixture, _ string, r *http.Request) (*http.Response, error) {
		answer, err := f.Server().HTTPClient().Transport.RoundTrip(r) // it has its effect
		if err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(io.MultiReader(io.LimitReader(answer.Body, 30), broken{}))
		return answer, nil
	},
	"truncated": func(f *fixture, _ string, r *http.Request) (*http.Response, error) {
		answer, err := f.Server().HTTPClient().Transport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(io.LimitReader(answer.Body, 30))
		return answer, nil
	},
	"a proxy": func(_ *fixture, _ string, r *http.Request) (*http.Response, error) {
		return testqueue.Answer(r, 200, "", "<html>")
	},
	"a proxy's 502": func(_ *fixture, _ string, r *http.Request) (*http.Response, error) {
		return testqueue.Answer(r, 502, "", "<html>")
	},
	"throttled": func(_ *fixture, _ string, r *http.Request) (*http.Response, error) {
		return testqueue.Answer(r, 403, "RequestThrottled", "")
	},
	"unavailable": func(_ *fixture, _ string, r *http.Request) (*http.Response, error) {
		return testqueue.Answer(r, 503, "ServiceUnavailable", "")
	},
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// One answer that cannot be read, or a second without any, costs no record its backoff.
func TestBriefFault_CostsNoBackoff(t *testing.T) {
	for name, answer := range unanswered {
		for _, long := range []bool{false, true} { // a second, or one call
			t.Run(fmt.Sprint(name, long), func(t *testing.T) {
				inBubble(t, standardQueue, func(f *fixture) {
					records := f.failures(50)
					begin := time.Now()
					var calls atomic.Int64
					f.Fault = func(op string, r *http.Request) (*http.Response, error) {
						if calls.Add(1) == 1 || long && time.Since(begin) < time.Second {
							return answer(f, op, r)
						}
						return nil, nil
					}
					results := f.invoke(records, byBody)
					for i, r := range results {
						if !r.VisibilitySet || r.VisibleIn != 10*time.Second {
							t.Errorf("record %d: visible in %v (%v)", i, r.VisibleIn, r.VisibilitySet)
						}
					}
					if len(f.warnings) > 0 {
						t.Errorf("warned %q", f.warnings)
					}
					// Rule 13: a later try asks for less, so that all come back 10 s after their failure.
					time.Sleep(time.Until(begin.Add(11 * time.Second)))
					if n := len(f.Receive(50)); n != 50 {
						t.Errorf("%d of 50 came back after their backoff", n)
					}
				})
			})
		}
	}
}

// A dead endpoint is tried seldom, holds nothing up beyond the patience, and is
// notified of once, with what is true.
func TestDeadEndpoint_IsTriedRarely(t *testing.T) {
	for name, words := range map[string]string{
		"refused": "SQS cannot be reached: is the network up", "no such host": "SQS cannot be reached: is the network up",
		"reset": "the connection to SQS ended before its answer", "hanging": "no answer from SQS in time: is it slow or down",
		"cut off": "SQS's answer cannot be read: it broke off", "a proxy's 502": "SQS's answer cannot be read: it broke off",
		"throttled": "SQS throttles the calls", "unavailable": "SQS has an internal error",
	} {
		for _, timeout := range []time.Duration{3 * time.Second, 30 * time.Second, 15 * time.Minute} {
			t.Run(fmt.Sprint(name, timeout), func(t *testing.T) {
				inBubble(t, standardQueue, func(f *fixture) {
					f.timeout, f.engine.Concurrency = timeout, 100
					records := f.failures(300)
					f.Fault = func(op string, r *http.Request) (*http.Response, error) { return unanswered[name](f, op, r) }
					f.ForgetCalls()
					begin := time.Now()
					results := f.invoke(records, byBody)
					took := time.Since(begin)
					if n := len(failedOf(results)); n != 300 {
						t.Errorf("%d reported", n)
					}
					if took > min(timeout, 9*time.Second) {
						t.Errorf("took %v of %v", took, timeout)
					}
					if n := len(f.Calls()); n > 16+10 {
						t.Errorf("%d calls in %v", n, took)
					}
					if timeout > 3*time.Second || name != "hanging" { // else there was no time for an answer
						f.warnedOnce(words)
					}
				})
			})
		}
	}
}

// While handlers run, calls that are not answered are made again for as long.
func TestBatchOutlastsOutage_CallsSucceed(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.timeout = 5 * time.Minute
		f.settling.Backoff = func(int) time.Duration { return 3 * time.Minute }
		f.Send("fail", "never", "ok")
		records := f.Receive(10)
		begin := time.Now()
		f.ForgetCalls()
		f.Fault = func(string, *http.Request) (*http.Response, error) {
			if time.Since(begin) < 2*time.Minute {
				return nil, refused
			}
			return nil, nil
		}
		results := f.invoke(records, func(ctx context.Context, r batch.Record) error {
			if r.Body == "ok" {
				time.Sleep(130 * time.Second)
			}
			return byBody(ctx, r)
		})
		f.wantOutcomes(results, "map[fail:retry never:dead-letter ok:succeeded]")
		for _, r := range results {
			if r.Record.Body == "fail" && r.VisibleIn != 3*time.Minute {
				t.Errorf("visible in %v (%v)", r.VisibleIn, r.VisibilitySet)
			}
		}
		if n := len(f.Calls()); n > 2*120 { // two operations, every 1 s to 2 s
			t.Errorf("%d calls in two minutes", n)
		}
	})
}

// What may have made a record visible must not be said again when it may be with
// another receiver.
func TestCallMayHaveWorked_IsNotRetriedTooLate(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.Backoff = func(int) time.Duration { return 2 * time.Second }
		records := f.failures(1)
		f.ForgetCalls()
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if len(f.Calls()) == 1 {
				_, _ = unanswered["truncated"](f, op, r)
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, nil
		}
		results := f.invoke(records, byBody)
		if calls := f.Calls(); results[0].VisibilitySet || len(calls) != 1 {
			t.Errorf("set %v by %v", results[0].VisibilitySet, calls)
		}
		f.warnedOnce("no answer from SQS in time")
	})
}

// A blip on the way to the RedrivePolicy, or to the dead-letter queue, costs no
// group its burials.
func TestBriefFault_HeadsAreStillDeadLettered(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.settling.OnPermanent = partialfailure.DeadLetter
		f.Send("a:never", "a:1", "b:never", "b:1", "c:never", "c:1")
		seen := map[string]int{}
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if seen[op]++; seen[op] <= 2 {
				return nil, refused
			}
			return nil, nil
		}
		results := f.invoke(f.Receive(10), byBody)
		for _, r := range results {
			want := batch.Succeeded
			if strings.HasSuffix(r.Record.Body, "never") {
				want = batch.DeadLettered
			}
			if r.Outcome != want {
				t.Errorf("%s: %v, want %v, warnings %q", r.Record.Body, r.Outcome, want, f.warnings)
			}
		}
	})
}

// A call that asks for a long wait is made again within the time that there is,
// whatever the SDK would do.
func TestRetryAfterHeader_DelaysNothing(t *testing.T) {
	for _, newRetries := range []string{"", "true"} {
		t.Run(newRetries, func(t *testing.T) {
			t.Setenv("AWS_NEW_RETRIES_2026", newRetries)
			inBubble(t, standardQueue, func(f *fixture) {
				records := f.failures(3)
				f.timeout = 3 * time.Second
				if err := f.Server().Inject(sqs.Fault{Kind: sqs.Throttled, Operation: opVisibility, RetryAfter: 10 * time.Second, Times: 2}); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				results := f.invoke(records, byBody)
				if took := time.Since(begin); took > time.Second {
					t.Errorf("took %v", took)
				}
				if slices.ContainsFunc(results, func(r batch.Result) bool { return !r.VisibilitySet }) {
					t.Errorf("not set: %v", results)
				}
			})
		})
	}
}

// What is refused as a whole is refused in halves, and then alone.
func TestCallRefusedForOneEntry_OthersSucceed(t *testing.T) {
	for operation, body := range map[string]string{opVisibility: "fail", "SendMessageBatch": "never", "DeleteMessageBatch": "ok"} {
		for _, code := range []string{"InvalidParameterValue", "InvalidMessageContents", "BatchRequestTooLong", "413"} {
			t.Run(operation+" "+code, func(t *testing.T) {
				inBubble(t, standardQueue, func(f *fixture) {
					f.settling.DeleteIfOthersFail = true
					f.settling.DeadLetterQueue = f.DeadLetterURL
					for i := range 10 {
						f.Send(fmt.Sprintf("%d:%s", i, body))
					}
					records := f.Receive(10)
					poisoned := records[3].ReceiptHandle
					if operation == "SendMessageBatch" {
						poisoned = records[3].Body
					}
					calls := 0
					f.Fault = func(op string, r *http.Request) (*http.Response, error) {
						if op != operation {
							return nil, nil
						}
						calls++
						text, err := io.ReadAll(r.Body)
						if err != nil {
							return nil, err
						}
						r.Body = io.NopCloser(strings.NewReader(string(text)))
						switch {
						case !strings.Contains(string(text), poisoned):
							return nil, nil
						case code == "413":
							return testqueue.Answer(r, 413, "", "<html>Request Entity Too Large</html>")
						}
						return testqueue.Answer(r, 400, code, "")
					}
					if body == "ok" {
						f.Send("fail")
						records = append(records, f.Receive(1)...)
					}
					results := f.invoke(records, byBody)
					for i, r := range results[:10] {
						ok := i != 3
						switch operation {
						case opVisibility:
							ok = ok == r.VisibilitySet
						case "SendMessageBatch":
							ok = ok == (r.Outcome == batch.DeadLettered)
						default:
							ok = ok == r.Deleted
						}
						if !ok {
							t.Errorf("record %d: %v, set %v, deleted %v", i, r.Outcome, r.VisibilitySet, r.Deleted)
						}
					}
					if calls > 9 {
						t.Errorf("%d calls", calls)
					}
					if operation == "DeleteMessageBatch" && sqserror.Gone(results[3].DeleteErr) {
						t.Errorf("%v counts as deleted", results[3].DeleteErr)
					}
				})
			})
		}
	}
}

// Entries that are left of an answer are divided, not those that were confirmed.
func TestRetryRefused_OnlyUnconfirmedEntriesAreSplit(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		records := f.failures(4)
		var sent []int
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(strings.NewReader(string(text)))
			sent = append(sent, strings.Count(string(text), "ReceiptHandle"))
			switch len(sent) {
			case 1:
				return testqueue.Answer(r, 200, "", `{"Successful":[{"Id":"0"},{"Id":"2"}],"Failed":[
					{"Id":"1","Code":"InternalError","SenderFault":false},{"Id":"3","Code":"InternalError","SenderFault":false}]}`)
			case 2:
				return testqueue.Answer(r, 400, "InvalidParameterValue", "")
			}
			return nil, nil
		}
		results := f.invoke(records, byBody)
		if !slices.Equal(sent, []int{4, 2, 1, 1}) || slices.ContainsFunc(results, func(r batch.Result) bool { return !r.VisibilitySet }) {
			t.Errorf("calls of %v entries, warned %q", sent, f.warnings)
		}
	})
}

// A dead-letter queue that is out of reach holds up a group, but not the others for
// as long as the batch lasts; a burial that is confirmed later counts.
func TestDeadLetterQueueUnreachable_OtherGroupsGoOn(t *testing.T) {
	for heals, want := range map[time.Duration]batch.Outcome{time.Hour: batch.Retry, 20 * time.Second: batch.DeadLettered} {
		inBubble(t, fifoQueue, func(f *fixture) {
			f.timeout, f.engine.Concurrency = time.Minute, 1
			f.Send("a:never", "a:1", "b:1")
			begin := time.Now()
			f.Fault = func(op string, _ *http.Request) (*http.Response, error) {
				if op == "SendMessageBatch" && time.Since(begin) < heals {
					return nil, refused
				}
				return nil, nil
			}
			results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
				if r.Body == "b:1" {
					if waited := time.Since(begin); waited > 15*time.Second {
						t.Errorf("the other group waited %v", waited)
					}
					time.Sleep(20 * time.Second)
				}
				return byBody(ctx, r)
			})
			if results[0].Outcome != want || results[1].Outcome != batch.Skipped || results[2].Outcome != batch.Succeeded {
				t.Errorf("%v: %v", heals, outcomes(results))
			}
			if _, dead := f.Left(); dead > 0 != (want == batch.DeadLettered) {
				t.Errorf("%v: %d dead letters", heals, dead)
			}
		})
	}
}

// Servers in SQS's place may take less in a call than SQS.
func TestSmallerCallLimit_LargeRecordsAreDeadLettered(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Queue = testqueue.New(f.t, false, func(o *sqs.Config) { o.MaxBatchBytes = 256 << 10 })
		for range 20 {
			f.Send(strings.Repeat("x", 40<<10) + ":never")
		}
		results := f.invoke(f.Receive(20), byBody)
		for i, r := range results {
			if r.Outcome != batch.DeadLettered {
				t.Errorf("record %d: %v, warnings %q", i, r.Outcome, f.warnings)
			}
		}
		if _, dead := f.Left(); dead != 20 {
			t.Errorf("%d dead letters", dead)
		}
	})
}
