package emf_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
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
		}), handler.Config{Hooks: testhooks.Of(emf.New(emf.Config{Writer: out}))})
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
			_, err := h.Invoke(ctx, payload)
			ok(t, err)
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

// In a container there is a line for each interval, and a last one at the stop. Its time is
// the beginning of the interval, as telemetry/cloudwatch puts it: the same alarms do for both.
func TestInAContainerAnIntervalIsALine(t *testing.T) {
	for _, records := range []int{1, 200} {
		synctest.Test(t, func(t *testing.T) {
			q, out, begin := testqueue.New(t, testqueue.Standard), &output{}, time.Now()
			stop := q.StartPoll(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
				if r.Body == "fail" {
					return batch.RetryAfter(time.Hour, errors.New("no"))
				}
				time.Sleep(50 * time.Millisecond)
				return nil
			}), handler.Config{Hooks: testhooks.Of(emf.New(emf.Config{Service: "orders", Writer: out}))})
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
			if at := time.UnixMilli(docs[0].timestamp); !at.Equal(begin) || docs[0].properties["coldStart"] != nil {
				t.Errorf("the line is of %v, want %v: %s", at, begin, docs[0].line)
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
			if last := read(t, out.take()); len(last) != 1 || last[0].values["RecordsSucceeded"][1] != 1 || last[0].timestamp != begin.Add(11*time.Minute).UnixMilli() {
				t.Errorf("the last documents are %v", last)
			}
			time.Sleep(time.Hour)
			if after := out.take(); after != "" {
				t.Errorf("written after the stop: %s", after)
			}
		})
	}
}

// Lambda drops lines below its level, and takes one without level and timestamp
// for INFO ("Log-level filtering" in the AWS Lambda Developer Guide).
func TestLinesPassLambdasLogLevel(t *testing.T) {
	for _, c := range []struct{ format, level, want string }{
		{"JSON", "WARN", "WARN"}, {"JSON", "ERROR", "ERROR"}, {"JSON", "FATAL", "FATAL"}, {"JSON", "warn", "WARN"},
		{"JSON", "INFO", ""}, {"JSON", "DEBUG", ""}, {"JSON", "TRACE", ""}, {"JSON", "", ""}, {"Text", "WARN", ""}, {"", "WARN", ""},
	} {
		t.Run(c.format+c.level, func(t *testing.T) {
			t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
			t.Setenv("AWS_LAMBDA_LOG_FORMAT", c.format)
			t.Setenv("AWS_LAMBDA_LOG_LEVEL", c.level)
			synctest.Test(t, func(t *testing.T) {
				out := &output{}
				h := emf.New(emf.Config{Writer: out})
				time.Sleep(1500 * time.Millisecond)
				settle(h, record(batch.Succeeded, 0))
				h.Hooks().Flush(t.Context())
				d := read(t, out.take())
				level, at := d[0].properties["level"], d[0].properties["timestamp"]
				if c.want == "" {
					if level != nil || at != nil {
						t.Errorf("level %v, timestamp %v, want neither", level, at)
					}
					return
				}
				text, _ := at.(string)
				stamp, err := time.Parse(time.RFC3339, text)
				if level != c.want || err != nil || stamp.UnixMilli() != d[0].timestamp || !stamp.Equal(time.Now()) {
					t.Errorf("level %v, timestamp %v (%v), want %s and now: %s", level, at, err, c.want, d[0].line)
				}
			})
		})
	}
}

// Of invocations side by side a line may have both: it names neither.
func TestALineNamesARequestOnlyWhereThereIsOneAtATime(t *testing.T) {
	for most, want := range map[string]any{"": "b", "1": "b", "2": nil, "64": nil} {
		t.Setenv("AWS_LAMBDA_MAX_CONCURRENCY", most)
		out := &output{}
		h := emf.New(emf.Config{Writer: out})
		of := func(id string) context.Context {
			return lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: id})
		}
		if most != "" && most != "1" {
			h.Hooks().Warned(of("a"), batch.Warning{Queue: "orders", Message: "a goes on"})
		}
		h.Hooks().BatchSettled(of("b"), batch.BatchInfo{QueueARN: orders}, []batch.Result{record(batch.Succeeded, 0)})
		h.Hooks().Flush(t.Context())
		if d := read(t, out.take()); len(d) != 1 || d[0].properties["requestId"] != want {
			t.Errorf("AWS_LAMBDA_MAX_CONCURRENCY=%s: want request %v: %+v", most, want, d)
		}
		for _, id := range []string{"c", "d"} { // two in a line
			h.Hooks().BatchSettled(of(id), batch.BatchInfo{QueueARN: orders}, []batch.Result{record(batch.Succeeded, 0)})
		}
		h.Hooks().Flush(t.Context())
		if d := read(t, out.take()); len(d) != 1 || d[0].properties["requestId"] != nil {
			t.Errorf("a line of two invocations: %+v", d)
		}
	}
}
