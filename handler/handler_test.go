package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	samples "github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

var _ lambda.Handler = (*handler.LambdaHandler)(nil)

func TestInvoke_ReportsEachFailureOnceInOrder(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	var log logbook
	l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger()})
	for name, c := range map[string]struct {
		payload []byte
		want    string
	}{
		"no records":     {[]byte(`{"Records":[]}`), `{"batchItemFailures":[]}`},
		"all succeed":    {payload(ordersARN, "ok", "ok"), `{"batchItemFailures":[]}`},
		"some fail":      {payload(ordersARN, "ok", "fail", "panic"), `{"batchItemFailures":[{"itemIdentifier":"m-1"},{"itemIdentifier":"m-2"}]}`},
		"all fail":       {payload(ordersARN, "fail"), `{"batchItemFailures":[{"itemIdentifier":"m-0"}]}`},
		"no ARN, no tag": {[]byte(`{"Records":[{"messageId":"m-0","body":"fail"}]}`), `{"batchItemFailures":[{"itemIdentifier":"m-0"}]}`},
		"odd count":      {[]byte(strings.Replace(string(payload(ordersARN, "fail")), `ReceiveCount":"1"`, `ReceiveCount":"abc"`, 1)), `{"batchItemFailures":[{"itemIdentifier":"m-0"}]}`},
		"the same twice": {[]byte(`{"Records":[{"messageId":"x","body":"fail"},{"messageId":"x","body":"fail"}]}`), `{"batchItemFailures":[{"itemIdentifier":"x"}]}`},
		"6 MB":           {payload(ordersARN, strings.Repeat("x", 6<<20)), `{"batchItemFailures":[]}`},
	} {
		got, err := l.Invoke(t.Context(), c.payload)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestInvalidEvent_IsAnInvocationError(t *testing.T) {
	l := newHandler(t, batch.HandlerFunc(func(context.Context, batch.Record) error {
		t.Error("the handler was called")
		return nil
	}), handler.Config{})
	for _, p := range []string{``, `null`, `{`, `{"key1":"value1"}`, `{"Records":null}`, `{"Records":[{"messageId":"m","eventSource":"aws:kinesis"}]}`,
		`{"Records":[{"messageId":"m-1"},{"body":"no id"}]}`, `{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"x"}}]}`} {
		response, err := l.Invoke(t.Context(), []byte(p))
		if err == nil || response != nil || !strings.Contains(err.Error(), "the event is not from an SQS event source mapping: ") {
			t.Errorf("%s: %s, %v", p, response, err)
		}
	}
	for _, e := range []events.SQSEvent{{}, {Records: []events.SQSMessage{{}}}, {Records: []events.SQSMessage{{MessageId: "m", EventSource: "aws:s3"}}}} {
		if _, err := l.HandleEvent(t.Context(), e); err == nil || !strings.Contains(err.Error(), "the event is not from an SQS event source mapping: ") {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func TestHandleEventAnswersAsInvoke(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	var log logbook
	l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger()})
	for _, p := range [][]byte{payload(ordersARN, "ok", "fail", "never"), payload(ordersARN+".fifo", "fail", "ok"), []byte(`{"Records":[]}`)} {
		var event events.SQSEvent
		if err := json.Unmarshal(p, &event); err != nil {
			t.Fatal(err)
		}
		want, err := l.Invoke(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		response, err := l.HandleEvent(t.Context(), event)
		got, _ := json.Marshal(response)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

func TestMessageFuncGetsWhatAWSLambdaGoDecodes(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	names, _ := fs.Glob(samples.FS, "*.json")
	for _, name := range names {
		data, err := samples.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var event events.SQSEvent
		if err := json.Unmarshal(data, &event); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		got := map[string]events.SQSMessage{}
		l := newHandler(t, handler.MessageFunc(func(_ context.Context, m events.SQSMessage) error {
			mu.Lock()
			defer mu.Unlock()
			got[m.ReceiptHandle] = m
			return nil
		}), handler.Config{})
		if _, err := l.Invoke(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		if len(event.Records) == 0 && name != "empty.json" {
			t.Errorf("%s has no records", name)
		}
		for _, want := range event.Records {
			if m := got[want.ReceiptHandle]; !reflect.DeepEqual(m, want) {
				t.Errorf("%s: %+v\nwant %+v", name, m, want)
			}
		}
	}
}

func TestAbandonedHandler_KeepsItsRecordsStrings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Context()
		var log logbook
		seen := make(chan string, 1)
		l := newHandler(t, batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			time.Sleep(time.Minute) // ignores its context
			seen <- r.MessageID + " " + r.Body
			return nil
		}), handler.Config{Logger: log.logger(), SQS: testqueue.New(t, testqueue.Standard).Client})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		p := payload(ordersARN, `{"id":"o-1"}`)
		got, err := l.Invoke(ctx, p)
		if err != nil || string(got) != `{"batchItemFailures":[{"itemIdentifier":"m-0"}]}` || ctx.Err() != nil {
			t.Fatalf("%s, %v, context %v", got, err, ctx.Err())
		}
		for i := range p {
			p[i] = '#' // the next invocation's event
		}
		if got := <-seen; got != `m-0 {"id":"o-1"}` {
			t.Errorf("the abandoned handler saw %q", got)
		}
		if lines := log.lines(t, "record"); len(lines) != 1 || lines[0]["outcome"] != "abandoned" {
			t.Errorf("log: %s", log.String())
		}
	})
}

func TestErrorIfAllFail_FailsOnlyWhenEveryRecordFailed(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	for _, c := range []struct {
		bodies []string
		fails  bool
	}{{[]string{"fail", "fail"}, true}, {[]string{"fail", "ok"}, false}, {[]string{"ok"}, false}} {
		var log logbook
		l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger(), ErrorIfAllFail: true})
		response, err := l.Invoke(t.Context(), payload(ordersARN, c.bodies...))
		var failed *handler.FailedError
		if errors.As(err, &failed) != c.fails || (response == nil) != c.fails {
			t.Errorf("%v: %s, %v", c.bodies, response, err)
		}
		// The records are settled and reported in the log either way.
		if len(log.lines(t, "batch")) != 1 {
			t.Errorf("%v: no line for the batch", c.bodies)
		}
	}
}

func TestDeleteSucceededWithFailure_DeletesAndReturnsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		q.Send("ok", "fail")
		var log logbook
		l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger(), SQS: q.Client, NoReportBatchItemFailures: true})
		response, err := l.Invoke(t.Context(), testqueue.Event(q.Receive(10)))
		var failed *handler.FailedError
		if !errors.As(err, &failed) || response != nil || err.Error() != "1 of 2 records failed, see the log for each" {
			t.Errorf("%s, %v", response, err)
		}
		deleted := q.Events(sqs.Deleted)
		if len(deleted) != 1 || deleted[0].Body != "ok" {
			t.Errorf("deleted %+v", deleted)
		}
	})
}

func TestConcurrentInvocations_AnswerForTheirOwnRecords(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	var log logbook
	l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger()})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			bodies := slices.Repeat([]string{"ok"}, 20)
			bodies[i] = "fail"
			got, err := l.Invoke(t.Context(), payload(ordersARN, bodies...))
			if want := fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":"m-%d"}]}`, i); err != nil || string(got) != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		})
	}
	wg.Wait()
}

func TestFailedRecords_LogNoBodies(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	const secret = "swordfish"
	var log logbook
	type order struct {
		ID       string
		Quantity int
		At       time.Time
	}
	l := newHandler(t, batch.JSON(func(_ context.Context, o order) error {
		if o.Quantity == 0 {
			return errors.New("no")
		}
		panic("oops")
	}), handler.Config{Logger: log.logger(), LogSucceeded: true})
	if _, err := l.Invoke(t.Context(), payload(ordersARN, `{"ID":"`+secret+`"}`, `{"ID":"`+secret+`","Quantity":1}`, secret,
		`{"Quantity":"`+secret+`"}`, `{"At":"`+secret+`"}`, `{"ID":"`+secret)); err != nil {
		t.Fatal(err)
	}
	if n := len(log.lines(t, "record")); n != 6 {
		t.Errorf("%d lines for 6 records", n)
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("a body is in the log: %s", log.String())
	}
}

type otherFunc func(ctx context.Context, payload []byte) ([]byte, error)

func (f otherFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

var errOther = errors.New("refused")

func TestOther_GetsWhatIsNoSQSEvent(t *testing.T) {
	other := otherFunc(func(_ context.Context, payload []byte) ([]byte, error) {
		if string(payload) == `"fail"` {
			return nil, errOther
		}
		return []byte(`"other"`), nil
	})
	handled := 0
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { handled++; return nil })
	const record = `{"messageId":"m-1","body":"b","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:orders"}`
	for payload, want := range map[string]string{
		`{"Records":[` + record + `]}`:    `{"batchItemFailures":[]}`,
		`{"httpMethod":"GET","path":"/"}`: `"other"`,
		`"warm"`:                          `"other"`,
		`[1]`:                             `"other"`,
		`{"Records":7}`:                   `"other"`,
		`{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"m"}}]}`:      `"other"`,
		`{"Records":[{"eventSource":"aws:s3","s3":{"object":{"key":"k"}}}]}`: `"other"`,
		`"fail"`: `refused`,
		`{"Records":[{"eventSource":"aws:sqs","body":"b"}]}`:                   `messageId`,
		`{"Records":[` + record + `,{"eventSource":"aws:sqs","messageId":7}]}`: `messageId`,
		`{"Records":[` + record: `not valid JSON`,
		``:                      `not valid JSON`,
	} {
		l := newHandler(t, h, handler.Config{Logger: slog.New(slog.DiscardHandler), Other: other})
		answer, err := l.Invoke(t.Context(), []byte(payload))
		if err != nil {
			answer = []byte(err.Error())
		}
		if !strings.Contains(string(answer), want) || strings.Contains(string(answer), "other") != (want == `"other"`) {
			t.Errorf("%s: %s, want %s", payload, answer, want)
		}
	}
	if handled != 1 {
		t.Errorf("%d records were handled", handled)
	}
	without := newHandler(t, h, handler.Config{Logger: slog.New(slog.DiscardHandler)})
	if _, err := without.Invoke(t.Context(), []byte(`"warm"`)); err == nil {
		t.Error("without Other, what is no SQS event was answered")
	}
}
