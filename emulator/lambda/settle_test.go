package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

var errFunction = errors.New("the warehouse is down")

// The messages, of a, b and c, that are deleted for each response, by AWS's documentation.
// «x» in a response stands for the message id of body x.
func TestSettling(t *testing.T) {
	const all, none = "abc", ""
	cases := []struct {
		name     string
		report   bool
		response string
		err      error
		deleted  string
		why      string // AllFailed
	}{
		{"answer", false, `{}`, nil, all, ""},
		{"no JSON", false, `oops`, nil, all, ""},
		{"a report without the setting", false, `{"batchItemFailures":[{"itemIdentifier":"«a»"}]}`, nil, all, ""},
		{"error", false, ``, errFunction, none, "the warehouse is down"},

		{"empty", true, ``, nil, all, ""},
		{"blank", true, " \n", nil, all, ""},
		{"null", true, `null`, nil, all, ""},
		{"empty object", true, `{}`, nil, all, ""},
		{"other keys", true, `{"statusCode":200}`, nil, all, ""},
		{"null list", true, `{"batchItemFailures":null}`, nil, all, ""},
		{"empty list", true, `{"batchItemFailures":[]}`, nil, all, ""},
		{"one", true, `{"batchItemFailures":[{"itemIdentifier":"«b»"}]}`, nil, "ac", ""},
		{"one, twice", true, `{"batchItemFailures":[{"itemIdentifier":"«b»"},{"itemIdentifier":"«b»"}]}`, nil, "ac", ""},
		{"two, with more keys", true, `{"x":1,"batchItemFailures":[{"itemIdentifier":"«c»","why":"x"},{"itemIdentifier":"«a»"}]}`, nil, "b", ""},
		{"all", true, `{"batchItemFailures":[{"itemIdentifier":"«a»"},{"itemIdentifier":"«b»"},{"itemIdentifier":"«c»"}]}`, nil, none, ""},

		{"invalid JSON", true, `{"batchItemFailures":[`, nil, none, "not valid JSON"},
		{"trailing garbage", true, `{"batchItemFailures":[]} x`, nil, none, "not valid JSON"},
		{"text", true, `"ok"`, nil, none, "not a JSON object"},
		{"list", true, `[]`, nil, none, "not a JSON object"},
		{"list is text", true, `{"batchItemFailures":"«a»"}`, nil, none, "not a list"},
		{"item is text", true, `{"batchItemFailures":["«a»"]}`, nil, none, "batchItemFailures[0] is not an object"},
		{"item is null", true, `{"batchItemFailures":[null]}`, nil, none, "batchItemFailures[0] is not an object"},
		{"bad key", true, `{"batchItemFailures":[{"itemIdentifier":"«a»"},{"ItemIdentifier":"«b»"}]}`, nil, none, "batchItemFailures[1] has no itemIdentifier"},
		{"empty id", true, `{"batchItemFailures":[{"itemIdentifier":""}]}`, nil, none, "is empty"},
		{"null id", true, `{"batchItemFailures":[{"itemIdentifier":null}]}`, nil, none, "is null"},
		{"number", true, `{"batchItemFailures":[{"itemIdentifier":7}]}`, nil, none, "is not a string"},
		{"unknown id", true, `{"batchItemFailures":[{"itemIdentifier":"«a»"},{"itemIdentifier":"m-1"}]}`, nil, none, `"m-1" is not a message of the batch`},
		{"error with the setting", true, `{"batchItemFailures":[]}`, errFunction, none, "the warehouse is down"},
	}
	for _, c := range cases {
		virtualRun(t, c.name, func(w *world) {
			url := w.queue("orders", 30)
			d := w.function(lambda.Function{}, func(_ context.Context, e events.SQSEvent) (string, error) {
				response := c.response
				for _, r := range e.Records {
					response = strings.ReplaceAll(response, "«"+r.Body+"»", r.MessageId)
				}
				return response, c.err
			})
			w.send(url, "a", "b", "c")
			// The mapping does not change the visibility of the other messages.
			w.runUntil(29*time.Second, lambda.Mapping{Function: d, QueueURL: url, ReportBatchItemFailures: c.report})
			w.wantDeleted(strings.Split(c.deleted, "")...)
			if len(w.ended) != 1 {
				w.Fatalf("%d invocations, want 1", len(w.ended))
			}
			end := w.ended[0]
			if (end.AllFailed == "") != (c.why == "") || !strings.Contains(end.AllFailed, c.why) {
				w.Errorf("AllFailed %q, want %q", end.AllFailed, c.why)
			}
			for i, r := range end.Records {
				if v := end.Verdicts[i]; v.Deleted != strings.Contains(c.deleted, r.Body) || v.Err != nil {
					w.Errorf("verdict on %s: %+v", r.Body, v)
				}
			}
			w.after(31 * time.Second)
			var left []string
			for _, body := range []string{"a", "b", "c"} {
				if !strings.Contains(c.deleted, body) {
					left = append(left, body)
				}
			}
			if got := w.visible(url); !slices.Equal(got, left) {
				w.Errorf("in the queue %v, want %v", got, left)
			}
		})
	}
}

// Ten thousand records in one batch, each with its own verdict.
func TestLargestBatch(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		d := w.function(lambda.Function{}, func(_ context.Context, e events.SQSEvent) (string, error) {
			return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, e.Records[5000].MessageId), nil
		})
		w.send(url, numbered(10_000)...)
		w.runUntil(time.Minute, lambda.Mapping{Function: d, QueueURL: url, BatchSize: 10_000, Window: 10 * time.Second, ReportBatchItemFailures: true})
		w.wantTimes("0s:10000")
		if n := len(w.server.Events(sqs.Deleted)); n != 9999 || w.ended[0].Verdicts[5000].Deleted {
			t.Errorf("deleted %d, verdict on the failed one %+v", n, w.ended[0].Verdicts[5000])
		}
	})
}

func TestDeleteFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   sqs.Fault
		calls   int
		deleted int    // number of the ten messages
		err     string // error of the other verdicts, and of the report
	}{
		{"none", sqs.Fault{Kind: sqs.Refused, Skip: 1}, 1, 10, ""},
		{"entries, once", sqs.Fault{Kind: sqs.EntryFailure, Times: 5}, 2, 10, ""},
		{"the call, twice", sqs.Fault{Kind: sqs.Refused, Times: 2}, 3, 10, ""},
		{"an entry, always", sqs.Fault{Kind: sqs.EntryFailure, Skip: 9}, 5, 9, "InternalError: "},
		{"an entry for good", sqs.Fault{Kind: sqs.EntryFailure, Skip: 3, Times: 1, Code: "ReceiptHandleIsInvalid"}, 1, 9, "ReceiptHandleIsInvalid: "},
		{"the call, always", sqs.Fault{Kind: sqs.Refused}, 5, 0, "connection refused"},
	} {
		virtualRun(t, c.name, func(w *world) {
			url := w.queue("orders", 30)
			c.fault.Operation = "DeleteMessageBatch"
			ok(w, w.server.Inject(c.fault))
			w.send(url, numbered(10)...)
			w.runUntil(20*time.Second, lambda.Mapping{QueueURL: url})
			calls, deleted := len(w.server.Calls("DeleteMessageBatch")), len(w.server.Events(sqs.Deleted))
			if calls != c.calls || deleted != c.deleted {
				w.Errorf("%d calls deleted %d, want %d and %d", calls, deleted, c.calls, c.deleted)
			}
			gone := 0
			for _, v := range w.ended[0].Verdicts {
				switch {
				case v.Deleted && v.Err == nil:
					gone++
				case v.Deleted || v.Err == nil || !strings.Contains(v.Err.Error(), c.err):
					w.Errorf("verdict %+v, want the error %q", v, c.err)
				}
			}
			if gone != c.deleted {
				w.Errorf("%d verdicts say deleted, want %d", gone, c.deleted)
			}
			switch told := len(w.pollErrors); {
			case (c.err != "") != (told == 1):
				w.Errorf("told %v", w.pollErrors)
			case told == 1 && (w.pollErrors[0].Operation != "DeleteMessageBatch" || w.pollErrors[0].Messages != 10-c.deleted):
				w.Errorf("told %v", w.pollErrors[0])
			}
		})
	}
}
