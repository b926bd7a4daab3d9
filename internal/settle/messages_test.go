package settle_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
)

const (
	changeVisibility = "ChangeMessageVisibilityBatch"
	deletion         = "DeleteMessageBatch"
)

// What is told names what its reader can set right: Lambda's settings there, the
// process's in a container.
func TestAdviceIsForTheModeThatItIsToldIn(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answer := func(code string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) { return testqueue.Answer(r, 403, code, "") }
	}
	for name, c := range map[string]struct {
		body, operation     string
		answer              func(*http.Request) (*http.Response, error)
		within              time.Duration
		onLambda, container string
		not                 string
	}{
		"visibility denied": {"fail", changeVisibility, answer("AccessDenied"), time.Minute,
			"function's role lacks sqs:ChangeMessageVisibility", "role of this process lacks sqs:ChangeMessageVisibility", "deleted"},
		"visibility denied, its cost": {"fail", changeVisibility, answer("AccessDenied"), time.Minute,
			"after the queue's visibility timeout instead", "when their visibility (Visibility; with package handler: SQSBATCH_VISIBILITY) is over, instead", "{"},
		"key": {"fail", changeVisibility, answer("KmsAccessDenied"), time.Minute,
			"allow the function's role kms:", "allow the role of this process kms:", "{"},
		"the handle is not known": {"fail", changeVisibility, answer("ReceiptHandleIsInvalid"), time.Minute,
			"visibility timeout was over before its handler was done (AWS advises 6", "or its server restarted", "instead of"},
		"no answer": {"fail", changeVisibility, hang, time.Minute,
			"within 3s: a function in a VPC needs a route", "within 3s: is it slow or down", "{"},
		"a bad signature": {"fail", changeVisibility, answer("InvalidSignatureException"), time.Minute,
			"does not accept the credentials", "does not accept the credentials", "SQS refused the call"},
		"an expired token": {"fail", changeVisibility, answer("ExpiredToken"), time.Minute,
			"the credentials have expired", "the credentials have expired", "SQS refused the call"},
		"deletes in vain": {"ok", deletion, answer("AccessDenied"), time.Minute,
			"", "sqs:DeleteMessage on", "backoff"},
		"no time for a delete": {"ok", deletion, hang, 2 * time.Second,
			"", "over before SQS had answered all calls: records that were handled will be delivered again", "backoff"},
		"no time for a backoff": {"fail", changeVisibility, hang, 2 * time.Second,
			"come back after the queue's visibility timeout. Raise the reserve", "SQSBATCH_VISIBILITY) is over. Find out why", "handled"},
	} {
		for _, polls := range []bool{false, true} {
			want := c.onLambda
			if polls {
				want = c.container
			}
			if want == "" { // on Lambda nothing is deleted here
				continue
			}
			t.Run(name, func(t *testing.T) {
				inBubble(t, false, func(f *fixture) {
					f.Send(c.body)
					records := f.Receive(10)
					if polls {
						f.settling.Delete, f.settling.QueueURL = settle.DeleteAlways, f.URL
					}
					f.timeout = c.within
					f.Fault = func(op string, r *http.Request) (*http.Response, error) {
						if op == c.operation {
							return c.answer(r)
						}
						return nil, nil
					}
					f.invoke(records, func(ctx context.Context, r batch.Record) error { return byBody(ctx, r) })
					f.warnedOnce(want)
					told := strings.Join(f.warnings, "")
					if strings.Contains(told, c.not) {
						t.Errorf("the warning has %q: %s", c.not, told)
					}
					if own := strings.NewReplacer("with package handler: SQSBATCH_", "", "with package handler SQSBATCH_", "").Replace(told); strings.Contains(own, "SQSBATCH_") {
						t.Errorf("the warning names a variable as if this package read it: %s", told)
					}
					for _, word := range []string{"function", "Lambda", "VPC", "SQSBATCH_RESERVE"} {
						if polls && strings.Contains(told, word) {
							t.Errorf("in a container the warning has %q: %s", word, told)
						}
					}
				})
			})
		}
	}
}
