package emf_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

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
				h := emf.New(emf.Options{Writer: out})
				time.Sleep(1500 * time.Millisecond)
				settle(h, record(batch.Succeeded, 0))
				h.Flush(t.Context())
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

// In a container a line is of the interval in which things were observed, as
// telemetry/cloudwatch puts it: the same alarms do for both.
func TestInAContainerALineIsOfItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &output{}
		h := emf.New(emf.Options{Writer: out})
		begin := time.Now() // a full minute
		time.Sleep(10 * time.Second)
		settle(h, record(batch.Succeeded, 0))
		time.Sleep(time.Minute) // the interval ends
		settle(h, record(batch.Succeeded, 0))
		h.Flush(t.Context()) // the stop, at 1m10s
		docs := read(t, out.take())
		if len(docs) != 2 {
			t.Fatalf("%d documents", len(docs))
		}
		for i, want := range []time.Time{begin, begin.Add(time.Minute)} {
			if at := time.UnixMilli(docs[i].timestamp); !at.Equal(want) || docs[i].properties["coldStart"] != nil {
				t.Errorf("line %d is of %v, want %v: %s", i, at.UTC(), want.UTC(), docs[i].line)
			}
		}
	})
}

// Of invocations side by side a line may have both: it names neither.
func TestALineNamesARequestOnlyWhereThereIsOneAtATime(t *testing.T) {
	for most, want := range map[string]any{"": "b", "1": "b", "2": nil, "64": nil} {
		t.Setenv("AWS_LAMBDA_MAX_CONCURRENCY", most)
		out := &output{}
		h := emf.New(emf.Options{Writer: out})
		of := func(id string) context.Context {
			return lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: id})
		}
		if most != "" && most != "1" {
			h.Warned(of("a"), batch.Warning{Queue: "orders", Message: "a goes on"})
		}
		h.BatchSettled(of("b"), batch.BatchInfo{QueueARN: orders}, []batch.Result{record(batch.Succeeded, 0)})
		h.Flush(t.Context())
		if d := read(t, out.take()); len(d) != 1 || d[0].properties["requestId"] != want {
			t.Errorf("AWS_LAMBDA_MAX_CONCURRENCY=%s: want request %v: %+v", most, want, d)
		}
		for _, id := range []string{"c", "d"} { // two in a line
			h.BatchSettled(of(id), batch.BatchInfo{QueueARN: orders}, []batch.Result{record(batch.Succeeded, 0)})
		}
		h.Flush(t.Context())
		if d := read(t, out.take()); len(d) != 1 || d[0].properties["requestId"] != nil {
			t.Errorf("a line of two invocations: %+v", d)
		}
	}
}
