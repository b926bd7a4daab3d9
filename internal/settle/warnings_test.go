package settle_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const (
	changeVisibility = "ChangeMessageVisibilityBatch"
	deletion         = "DeleteMessageBatch"
)

// What is reported names what its reader can set right, and what it means for the records.
func TestWarningsSayWhatToDo(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answer := func(code string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) { return testqueue.Answer(r, 403, code, "") }
	}
	for name, c := range map[string]struct {
		bodies    []string
		operation string
		answer    func(*http.Request) (*http.Response, error)
		within    time.Duration
		want, not string
	}{
		"visibility denied": {[]string{"fail"}, changeVisibility, answer("AccessDenied"), time.Minute,
			"the role needs sqs:ChangeMessageVisibility", "deleted"},
		"visibility denied, its cost": {[]string{"fail"}, changeVisibility, answer("AccessDenied"), time.Minute,
			"come back when their visibility timeout is over, instead of", "{"},
		"key": {[]string{"fail"}, changeVisibility, answer("KmsAccessDenied"), time.Minute,
			"allow the role kms:", "{"},
		"the handle is not known": {[]string{"fail"}, changeVisibility, answer("ReceiptHandleIsInvalid"), time.Minute,
			"visibility timeout was over before its handler was done (AWS advises 6", "instead of"},
		"no answer": {[]string{"fail"}, changeVisibility, hang, time.Minute,
			"in time: is it slow or down", "{"},
		"a bad signature": {[]string{"fail"}, changeVisibility, answer("InvalidSignatureException"), time.Minute,
			"does not accept the credentials", "SQS refused the call"},
		"an expired token": {[]string{"fail"}, changeVisibility, answer("ExpiredToken"), time.Minute,
			"the credentials have expired", "SQS refused the call"},
		"refused deletes": {[]string{"ok", "fail"}, deletion, answer("AccessDenied"), time.Minute,
			"sqs:DeleteMessage on", "backoff"},
		"no time for a delete": {[]string{"ok", "fail"}, deletion, hang, 2 * time.Second,
			"records that were not deleted will be delivered again. Raise the reserve", "{"},
		"no time for a backoff": {[]string{"fail"}, changeVisibility, hang, 2 * time.Second,
			"no time left before SQS had answered all calls: records whose backoff was not set come back when their visibility timeout is over", "{"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send(c.bodies...)
				records := f.Receive(10)
				f.settling.DeleteIfOthersFail = true
				f.timeout = c.within
				f.Fault = func(op string, r *http.Request) (*http.Response, error) {
					if op == c.operation {
						return c.answer(r)
					}
					return nil, nil
				}
				f.invoke(records, func(ctx context.Context, r batch.Record) error { return byBody(ctx, r) })
				f.warnedOnce(c.want)
				told := strings.Join(f.warnings, "")
				if strings.Contains(told, c.not) {
					t.Errorf("the warning has %q: %s", c.not, told)
				}
				if own := strings.NewReplacer("with package handler: SQSBATCH_", "").Replace(told); strings.Contains(own, "SQSBATCH_") {
					t.Errorf("the warning names a variable as if this package read it: %s", told)
				}
			})
		})
	}
}
