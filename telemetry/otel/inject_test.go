package otel_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// withSpan is a context with a span, and maybe tracestate and baggage.
func withSpan(t *testing.T, full bool) context.Context {
	t.Helper()
	c := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}
	ctx := context.Background()
	if full {
		var err error
		if c.TraceState, err = trace.ParseTraceState("vendor=x"); err != nil {
			t.Fatal(err)
		}
		bag, err := baggage.Parse("customer=acme")
		ok(t, err)
		ctx = baggage.ContextWithBaggage(ctx, bag)
	}
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(c))
}

func numbered(n int) map[string]types.MessageAttributeValue {
	m := map[string]types.MessageAttributeValue{}
	for i := range n {
		m[fmt.Sprint("a", i)] = types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String("1")}
	}
	return m
}

func TestInject(t *testing.T) {
	const traceparent = "00-01000000000000000000000000000000-0200000000000000-01"
	for _, c := range []struct {
		name  string
		full  bool
		given map[string]types.MessageAttributeValue
		want  string // of what is added
		err   string
	}{
		{name: "a span", want: "traceparent=" + traceparent},
		{name: "all of it", full: true, want: "baggage=customer=acme traceparent=" + traceparent + " tracestate=vendor=x"},
		{name: "seven attributes", full: true, given: numbered(7), want: "baggage=customer=acme traceparent=" + traceparent + " tracestate=vendor=x"},
		{name: "eight attributes", full: true, given: numbered(8), want: "traceparent=" + traceparent + " tracestate=vendor=x"},
		{name: "nine attributes", full: true, given: numbered(9), want: "traceparent=" + traceparent},
		{name: "ten attributes", full: true, given: numbered(10), err: "has 10 attributes already and SQS allows 10: no room for traceparent"},
		{name: "created elsewhere", full: true, given: map[string]types.MessageAttributeValue{"traceparent": {}}},
		{name: "baggage of its own", full: true, given: map[string]types.MessageAttributeValue{"baggage": {}},
			want: "traceparent=" + traceparent + " tracestate=vendor=x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := maps.Clone(c.given)
			out, err := otel.Inject(withSpan(t, c.full), c.given)
			if c.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !maps.EqualFunc(c.given, before, func(a, b types.MessageAttributeValue) bool { return a.StringValue == b.StringValue }) {
				t.Error("the attributes that were given were changed")
			}
			var added []string
			for name, a := range out {
				if _, there := c.given[name]; !there {
					added = append(added, name+"="+*a.StringValue)
					if *a.DataType != "String" {
						t.Errorf("%s is a %s", name, *a.DataType)
					}
				}
			}
			slices.Sort(added)
			if got := strings.Join(added, " "); got != c.want || len(out) != len(c.given)+len(added) {
				t.Errorf("%d attributes, added %q; want %q", len(out), got, c.want)
			}
		})
	}
}

func TestInjectWithoutASpan(t *testing.T) {
	out, err := otel.Inject(context.Background(), nil)
	if out != nil || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	if out := otel.InjectSystem(context.Background(), nil); out != nil {
		t.Errorf("%v", out)
	}
}

func TestInjectSystem(t *testing.T) {
	ctx := withSpan(t, true)
	out := otel.InjectSystem(ctx, nil)
	if got, want := *out["AWSTraceHeader"].StringValue, "Root=1-01000000-000000000000000000000000;Parent=0200000000000000;Sampled=1"; got != want || *out["AWSTraceHeader"].DataType != "String" {
		t.Errorf("%q, want %q", got, want)
	}
	own := map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {StringValue: aws.String("own")}}
	if got := *otel.InjectSystem(ctx, own)["AWSTraceHeader"].StringValue; got != "own" {
		t.Errorf("the header that was there is %q", got)
	}
}

// A propagator of the user's own, at both ends.
func TestAnotherPropagator(t *testing.T) {
	inWorld(t, false, otel.Options{Propagator: propagation.Baggage{}}, func(w *world) {
		out, err := w.hook.Inject(withSpan(t, true), nil)
		if err != nil || len(out) != 1 || *out["baggage"].StringValue != "customer=acme" {
			t.Errorf("%v, %v", out, err)
		}
		w.sent(true, false) // with traceparent, which this propagator does not read
		w.run(true, byBody)
		if records, _ := w.byID(); len(records) != 1 || len(records[0].Links) != 0 {
			t.Errorf("%d records, links %v", len(records), records[0].Links)
		}
	})
}
