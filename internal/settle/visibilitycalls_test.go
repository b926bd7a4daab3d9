package settle_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestManyFailures_GoInTensWithPositionalIDs(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		bodies := make([]string, 25)
		for i := range bodies {
			bodies[i] = fmt.Sprintf("%d:fail", i)
		}
		f.Send(bodies...)
		records := f.Receive(25)
		for i := range records {
			records[i].MessageID = "the same" // SQS may deliver a message twice in a batch
		}
		f.ForgetCalls()
		f.engine.Concurrency = 25
		f.invoke(records, byBody)
		want := []string{"ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatch"}
		if got := f.Calls(); !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if n := len(f.Events(sqs.Visibility)); n != 25 {
			t.Errorf("%d visibilities changed, want 25", n)
		}
	})
}

func TestEntryFailsForPassingReason_IsRetried(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail", "2:fail", "3:fail")
		f.engine.Concurrency = 1 // so that entries are in order
		tries := 0
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op != "ChangeMessageVisibilityBatch" {
				return nil, nil
			}
			if tries++; tries == 1 { // entry 1 fails for a passing reason, entry 2 for good
				return testqueue.Answer(r, 200, "", `{"Successful":[{"Id":"0"}],"Failed":[
					{"Id":"1","Code":"InternalError","SenderFault":false},
					{"Id":"2","Code":"AWS.SimpleQueueService.MessageNotInflight","SenderFault":true}]}`)
			}
			return nil, nil
		}
		results := f.invoke(f.Receive(10), byBody)
		if tries != 2 || len(f.Events(sqs.Visibility)) != 1 {
			t.Errorf("%d tries, %d changes by the server, want 2 and 1", tries, len(f.Events(sqs.Visibility)))
		}
		for i, want := range []bool{true, true, false} {
			if results[i].VisibilitySet != want || results[i].Outcome != batch.Retry {
				t.Errorf("record %d: set %v, %v", i, results[i].VisibilitySet, results[i].Outcome)
			}
		}
		f.warnedOnce("ChangeMessageVisibility", "no longer accepts the record's receipt handle", "its visibility timeout was over before its handler was done")
	})
}

func TestVisibilityCallFails_CostsOnlyTheBackoff(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(op string, r *http.Request) (*http.Response, error)
		took  time.Duration // at most
		words []string
	}{
		"denied": {func(op string, r *http.Request) (*http.Response, error) {
			return testqueue.Answer(r, 403, "AccessDeniedException", "")
		}, time.Second, []string{"needs sqs:ChangeMessageVisibility on arn:aws:sqs:eu-west-1:123456789012:orders"}},
		"refused": {func(string, *http.Request) (*http.Response, error) {
			return nil, refused
		}, 5 * time.Second, []string{"SQS cannot be reached: is the network up, and are region and endpoint", "connection refused"}},
		"hanging": {func(_ string, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 7 * time.Second, []string{"no answer from SQS in time", "VPC"}},
		"no queue": {func(_ string, r *http.Request) (*http.Response, error) {
			return testqueue.Answer(r, 400, "QueueDoesNotExist", "")
		}, time.Second, []string{"there is no such queue"}},
		"garbage": {func(_ string, r *http.Request) (*http.Response, error) {
			return testqueue.Answer(r, 200, "", `<html>proxy</html>`)
		}, 5 * time.Second, []string{"SQS's answer cannot be read: it broke off, or a proxy"}},
		"an empty answer": {func(_ string, r *http.Request) (*http.Response, error) {
			return testqueue.Answer(r, 200, "", `{}`)
		}, time.Second, []string{"answer is incomplete"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				var bodies []string
				for i := range 40 {
					bodies = append(bodies, fmt.Sprintf("%d:fail", i))
				}
				f.Send(append(bodies, "ok")...)
				records := f.Receive(100)
				f.Fault = c.fault
				begin := time.Now()
				results := f.invoke(records, byBody)
				if took := time.Since(begin); took > c.took {
					t.Errorf("took %v, want at most %v", took, c.took)
				}
				if got := len(failedOf(results)); got != 40 {
					t.Errorf("%d reported, want the 40 that failed", got)
				}
				f.warnedOnce(c.words...)
			})
		})
	}
}

func TestSQSHangs_LeavesTimeForTheResponse(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("hang", "fail", "ok")
		records := f.Receive(10)
		f.Fault = func(_ string, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		f.timeout = 2 * time.Second
		begin := time.Now()
		results := f.invoke(records, byBody)
		if took := time.Since(begin); took > 1960*time.Millisecond {
			t.Errorf("took %v of 2s", took)
		}
		want := map[string]string{"hang": "abandoned", "fail": "retry", "ok": "succeeded"}
		if got := outcomes(results); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		f.warnedOnce("there was no time left")
	})
}

func TestNoClient_FailuresAreStillReported(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("fail", "ok")
		records := f.Receive(10)
		f.settling.Client = noClient
		results := f.invoke(records, byBody)
		if got := failedOf(results); len(got) != 1 {
			t.Errorf("reported %v", got)
		}
		f.warnedOnce("SQS cannot be called", "no region")
	})
}
