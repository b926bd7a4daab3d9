package emf_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

// On Lambda each invocation writes its metrics in one line, before it answers. One that lasts
// over full minutes does so too: what it called and warned of before them waits for its end.
func TestOnLambdaAnInvocationIsALine(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "ship-orders")
	synctest.Test(t, func(t *testing.T) {
		q, out := testqueue.New(t, testqueue.Standard), &output{}
		h := q.Lambda(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			if r.Body == "fail" {
				return batch.RetryAfter(11*time.Hour, errors.New("no"))
			}
			time.Sleep(150 * time.Second)
			return nil
		}), handler.Config{Hooks: []any{emf.New(emf.Options{Writer: out})}})
		for i, id := range []string{"request-1", "request-2"} {
			q.ForgetCalls()
			q.Send("slow", "fail", "fail")
			records := q.Receive(10)
			payload := testqueue.Event(records)
			ctx, cancel := context.WithTimeout(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: id}), 5*time.Minute)
			invoked := time.Now()
			time.AfterFunc(50*time.Second, func() {
				if !slices.Contains(q.Calls(), "ChangeMessageVisibilityBatch") {
					t.Error("nothing was called before the first full minute, so the test shows nothing")
				}
			})
			if _, err := h.Invoke(ctx, payload); err != nil {
				t.Fatal(err)
			}
			cancel()
			if took := time.Since(invoked); took < 2*time.Minute {
				t.Fatalf("the invocation took %v", took)
			}
			docs := read(t, out.take())
			if len(docs) != 1 || docs[0].properties["requestId"] != id {
				t.Fatalf("invocation %d wrote %d documents: %+v", i, len(docs), docs)
			}
			d := docs[0]
			if d.dimensions["Service"] != "ship-orders" || d.dimensions["Queue"] == "" || d.properties["functionName"] != "ship-orders" {
				t.Errorf("%s", d.line)
			}
			if d.values["RecordsSucceeded"][float64(len(records)-2)] != 1 || d.values["RecordsRetried"][2] != 1 || d.values["VisibilityEntries"][2] != 1 ||
				d.values["BatchSize"][float64(len(records))] != 1 || d.values["Attempts"][1] == 0 {
				t.Errorf("%s", d.line)
			}
			if cold := d.properties["coldStart"] == true; cold != (i == 0) || cold != (len(d.values["ColdStarts"]) == 1) {
				t.Errorf("invocation %d is a cold start: %v", i, cold)
			}
			time.Sleep(time.Hour)
			if after := out.take(); after != "" {
				t.Errorf("written after the invocation: %s", after)
			}
		}
	})
}

// In a container there is a line for each interval, and a last one at the stop.
func TestInAContainerAnIntervalIsALine(t *testing.T) {
	for _, records := range []int{1, 200} {
		synctest.Test(t, func(t *testing.T) {
			q, out := testqueue.New(t, testqueue.Standard), &output{}
			stop := q.StartPoll(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
				if r.Body == "fail" {
					return batch.RetryAfter(time.Hour, errors.New("no"))
				}
				time.Sleep(50 * time.Millisecond)
				return nil
			}), handler.Config{Hooks: []any{emf.New(emf.Options{Service: "orders", Writer: out})}})
			q.Send(append(slices.Repeat([]string{"ok"}, records), "fail")...)
			time.Sleep(59 * time.Second)
			if early := out.take(); early != "" {
				t.Errorf("written before the interval is over: %s", early)
			}
			time.Sleep(2 * time.Second)
			docs := read(t, out.take())
			if len(docs) != 1 {
				t.Fatalf("%d documents for %d records", len(docs), records)
			}
			for name, want := range map[string]float64{"RecordsSucceeded": float64(records), "RecordsRetried": 1, "DeleteEntries": float64(records), "DeadLetterCalls": -1,
				"VisibilityEntries": 1, "MessagesReceived": float64(records + 1), "Slots": 10, "Running": 0, "Undeleted": 0, "ColdStarts": 1} {
				if got := docs[0].values[name]; want < 0 && got != nil || want >= 0 && got[want] != 1 {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			if len(docs[0].line) > 3000 {
				t.Errorf("a document of %d bytes for %d records", len(docs[0].line), records)
			}
			time.Sleep(10 * time.Minute)
			if idle := read(t, out.take()); len(idle) != 10 || idle[0].values["ReceiveCalls"] == nil || idle[0].values["Slots"] == nil {
				t.Errorf("%d documents of an idle queue in ten minutes", len(idle))
			}
			q.Send("ok")
			time.Sleep(time.Second)
			stop()
			if last := read(t, out.take()); len(last) != 1 || last[0].values["RecordsSucceeded"][1] != 1 {
				t.Errorf("the last documents are %v", last)
			}
			time.Sleep(time.Hour)
			if after := out.take(); after != "" {
				t.Errorf("written after the stop: %s", after)
			}
		})
	}
}

func TestOptionsAreValidatedBeforeAnythingIsHandled(t *testing.T) {
	many := map[string]string{}
	for i := range 29 {
		many["D"+strings.Repeat("x", i)] = "v"
	}
	for _, c := range []struct {
		o    emf.Options
		want string
	}{
		{emf.Options{Service: ":x"}, `Service is ":x"`}, {emf.Options{Service: " "}, "Service"}, {emf.Options{Service: "ö"}, "Service"},
		{emf.Options{Service: strings.Repeat("x", 1025)}, "1024"},
		{emf.Options{Namespace: "AWS/SQS"}, `Namespace is "AWS/SQS"`}, {emf.Options{Namespace: strings.Repeat("x", 256)}, "255"},
		{emf.Options{Interval: -1}, "Interval is -1ns, must be 1s to 1h"}, {emf.Options{Interval: 2 * time.Hour}, "Interval"},
		{emf.Options{Dimensions: many}, "29 entries"}, {emf.Options{Dimensions: map[string]string{"Queue": "x"}}, `"Queue", which has a meaning already`},
		{emf.Options{Dimensions: map[string]string{"A": ""}}, `"A": ""`}, {emf.Options{Dimensions: map[string]string{"BatchSize": "x"}}, "BatchSize"},
		{emf.Options{Properties: map[string]string{"_aws": "x"}}, "_aws"},
		{emf.Options{Properties: map[string]string{"level": "x"}}, `"level"`}, {emf.Options{Dimensions: map[string]string{"timestamp": "x"}}, `"timestamp"`},
		{emf.Options{Properties: map[string]string{"A": strings.Repeat("\x00", 1700)}}, "10206 bytes"},
		{emf.Options{Properties: map[string]string{"A": "x"}, Dimensions: map[string]string{"A": "x"}}, `Properties has "A"`},
	} {
		_, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), handler.Config{Hooks: []any{emf.New(c.o)}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Hooks[0]") {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if _, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
		handler.Config{Hooks: []any{emf.New(emf.Options{Interval: time.Second, Properties: map[string]string{"version": "1"}})}}); err != nil {
		t.Error(err)
	}
}
