package settle_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// aged are records of which the first fails, at an age and attempt.
func (f *fixture) aged(age time.Duration, attempt int) []batch.Record {
	f.t.Helper()
	f.Send("fail", "ok")
	records := f.Receive(10)
	for i := range records {
		records[i].SentAt, records[i].Attempt = time.Now().Add(-age), attempt
	}
	return records
}

func (f *fixture) retain(seconds string) {
	f.t.Helper()
	if _, err := f.Client.SetQueueAttributes(context.Background(), &sqs.SetQueueAttributesInput{QueueUrl: &f.URL, Attributes: map[string]string{"MessageRetentionPeriod": seconds}}); err != nil {
		f.t.Fatal(err)
	}
}

func TestARecordNearTheEndOfItsRetentionIsWarnedOf(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		retention string // seconds; "" for the default, 4 days
		fifo      bool
		age       time.Duration
		words     []string // nil: no warning
	}{
		"near":          {"", false, 3*day + 5*time.Hour, []string{"sent 77h0m0s ago", "MessageRetentionPeriod is 96h0m0s", "dead-letter queue keeps its age"}},
		"not yet":       {"", false, 3*day + 4*time.Hour, nil},
		"over":          {"", false, 5 * day, []string{"sent 120h0m0s ago and will be deleted"}},
		"FIFO":          {"", true, 3*day + 22*time.Hour + 30*time.Minute, []string{"sent 94h30m0s ago", "In a FIFO dead-letter queue its age starts"}},
		"a short one":   {"60", false, 50 * time.Second, []string{"sent 50s ago", "is 1m0s"}},
		"a longest one": {"1209600", false, 4 * day, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.fifo, func(f *fixture) {
				if c.retention != "" {
					f.retain(c.retention)
				}
				records := f.aged(c.age, 2)
				f.invoke(records, byBody)
				if c.words == nil {
					if len(f.warnings) > 0 {
						t.Errorf("warned %q", f.warnings)
					}
					return
				}
				f.warnedOnce(c.words...)
			})
		})
	}
}

// It costs no call of its own, is reported again after five minutes, and is unknown where
// nothing was asked.
func TestTheRetentionIsAskedForWithThePolicy(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		old := f.aged(90*time.Hour, 2)
		f.ForgetCalls()
		f.invoke(old, byBody)
		f.warnedOnce("sent 90h0m0s ago")
		f.warnings = nil
		f.invoke(f.aged(90*time.Hour, 2), byBody)
		if len(f.warnings) > 0 {
			t.Errorf("warned again %q", f.warnings)
		}
		if n := f.asks(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.MaxReceiveCount = 10
		f.invoke(f.aged(90*time.Hour, 2), byBody)
		if len(f.warnings) > 0 || f.asks() != 0 {
			t.Errorf("warned %q", f.warnings)
		}
	})
	inBubble(t, standardQueue, func(f *fixture) { // a server that does not know the attribute
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op == "GetQueueAttributes" {
				return testqueue.Answer(r, 200, "", `{"Attributes":{}}`)
			}
			return nil, nil
		}
		f.invoke(f.aged(90*time.Hour, 2), byBody)
		if strings.Contains(strings.Join(f.warnings, " "), "Retention") {
			t.Errorf("warned %q", f.warnings)
		}
	})
}
