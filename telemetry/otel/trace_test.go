package otel_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

func (w *world) sent(inject, system bool) trace.SpanContext {
	w.t.Helper()
	ctx, span := w.tracer.Start(w.t.Context(), "send orders", trace.WithSpanKind(trace.SpanKindProducer))
	defer span.End()
	member, _ := baggage.NewMemberRaw("customer", "acme corp")
	bag, _ := baggage.New(member)
	in := &awssqs.SendMessageInput{MessageBody: aws.String("g:ok")}
	if strings.HasSuffix(w.URL, ".fifo") {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String("g"), aws.String(span.SpanContext().SpanID().String())
	}
	if inject {
		var err error
		in.MessageAttributes, err = otel.Inject(baggage.ContextWithBaggage(ctx, bag), nil)
		ok(w.t, err)
	}
	if system {
		in.MessageSystemAttributes = otel.InjectSystem(ctx, nil)
	}
	w.SendInput(in)
	return span.SpanContext()
}

func linked(s tracetest.SpanStub) (ids []string) {
	for _, l := range s.Links {
		ids = append(ids, l.SpanContext.SpanID().String())
	}
	return ids
}

// The way of a trace: sender, SQS, consumer, in both modes.
func TestRecordsLinkToTheirSenders(t *testing.T) {
	for _, c := range []struct {
		name           string
		inject, system bool
		lambda         bool
	}{
		{"message attributes, Lambda", true, false, true},
		{"message attributes, container", true, false, false},
		{"AWSTraceHeader, Lambda", false, true, true},
		{"AWSTraceHeader, container", false, true, false},
		{"both, Lambda", true, true, true},
		{"both, container", true, true, false},
	} {
		inWorldRun(t, c.name, false, otel.Config{}, func(w *world) {
			sender := w.sent(c.inject, c.system)
			customer := make(chan string, 1)
			w.run(c.lambda, func(ctx context.Context, r batch.Record) error {
				customer <- baggage.FromContext(ctx).Member("customer").Value()
				return nil
			})
			records, others := w.byID()
			if got := linked(records[0]); len(got) != 1 || got[0] != sender.SpanID().String() || !records[0].Links[0].SpanContext.IsSampled() {
				w.t.Errorf("links %v, want one to %s", got, sender.SpanID())
			}
			if records[0].SpanContext.TraceID() == sender.TraceID() {
				w.t.Error("the record is in the sender's trace")
			}
			if got, want := <-customer, map[bool]string{true: "acme corp"}[c.inject]; got != want {
				w.t.Errorf("the handler has the baggage %q, want %q", got, want)
			}
			if c.lambda {
				b := others[len(others)-1]
				if len(b.Links) == 0 || b.Links[0].SpanContext.SpanID() != sender.SpanID() ||
					attr(b.Links[0].Attributes, "messaging.message.id") != attr(records[0].Attributes, "messaging.message.id") {
					w.t.Errorf("the batch's links are %v", b.Links)
				}
			}
		})
	}
}

func (w *world) run(lambda bool, h batch.HandlerFunc) {
	w.t.Helper()
	if lambda {
		w.onLambda(h, w.config())
	} else {
		w.Poll(w.t.Context(), time.Minute, h, w.config())
	}
}

func TestSenderAsParent(t *testing.T) {
	for _, c := range []struct {
		lambda, fifo bool
		n            int
		parent       bool
	}{
		{lambda: true, n: 1, parent: true},
		{lambda: true, n: 2, parent: false},
		{lambda: false, n: 2, parent: true},
		{lambda: false, fifo: true, n: 2, parent: true},
	} {
		inWorldRun(t, fmt.Sprintf("%+v", c), c.fifo, otel.Config{SenderAsParent: true}, func(w *world) {
			senders := map[trace.SpanID]trace.TraceID{}
			for range c.n {
				sc := w.sent(true, false)
				senders[sc.SpanID()] = sc.TraceID()
			}
			w.run(c.lambda, byBody)
			records, _ := w.byID()
			for _, s := range records {
				if traceID, ok := senders[s.Parent.SpanID()]; ok != c.parent || ok && traceID != s.SpanContext.TraceID() {
					w.t.Errorf("the record's parent is %v", s.Parent)
				}
				want := 1
				if c.parent && c.lambda {
					want = 2 // and the batch's span
				}
				if _, ok := senders[s.Links[0].SpanContext.SpanID()]; !ok || len(s.Links) != want {
					w.t.Errorf("the record links to %v", linked(s))
				}
			}
			if len(records) != c.n {
				w.t.Errorf("%d records", len(records))
			}
		})
	}
}

func TestTheTraceOfTheInvocation(t *testing.T) {
	const header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled="
	for _, c := range []struct {
		option  otel.Invocation
		sampled string
		span    bool   // there already, such as otellambda's
		want    string // of the batch's span
	}{
		{otel.InvocationSampled, "1", false, "child"},
		{otel.InvocationSampled, "0", false, "link"},
		{otel.InvocationContinued, "1", false, "child"},
		{otel.InvocationContinued, "0", false, "nothing"}, // the SDK's sampler respects the parent
		{otel.InvocationLinked, "1", false, "link"},
		{otel.InvocationLinked, "0", false, "link"},
		{otel.InvocationLinked, "1", true, "child of the span"},
	} {
		inWorldRun(t, fmt.Sprint(c.option, c.sampled, c.span), false, otel.Config{Invocation: c.option}, func(w *world) {
			w.Send("ok")
			var function trace.SpanContext
			w.onLambda(byBody, w.config(), func(ctx context.Context) context.Context {
				//lint:ignore SA1029 it is the key that aws-lambda-go uses
				ctx = context.WithValue(ctx, "x-amzn-trace-id", header+c.sampled)
				if c.span {
					var span trace.Span
					ctx, span = w.tracer.Start(ctx, "function", trace.WithSpanKind(trace.SpanKindServer))
					function = span.SpanContext()
				}
				return ctx
			})
			_, batches := w.byID()
			got := "nothing"
			for _, b := range batches {
				switch {
				case c.span && b.Parent.SpanID() == function.SpanID() && len(b.Links) == 0:
					got = "child of the span"
				case b.Parent.SpanID().String() == "53995c3f42cd8ad8" && b.SpanContext.TraceID().String() == "5759e988bd862e3fe1be46a994272793":
					got = "child"
				case len(b.Links) == 1 && linked(b)[0] == "53995c3f42cd8ad8" && !b.Parent.IsValid():
					got = "link"
				}
			}
			if got != c.want {
				w.t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// withSpan is a context with a span, and maybe tracestate and baggage.
func withSpan(t *testing.T, full bool) context.Context {
	t.Helper()
	c := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}
	ctx := context.Background()
	if full {
		var err error
		c.TraceState, err = trace.ParseTraceState("vendor=x")
		ok(t, err)
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

func TestInjectSystem(t *testing.T) {
	ctx := withSpan(t, true)
	out := otel.InjectSystem(ctx, nil)
	if got, want := *out["AWSTraceHeader"].StringValue, "Root=1-01000000-000000000000000000000000;Parent=0200000000000000;Sampled=1"; got != want || *out["AWSTraceHeader"].DataType != "String" {
		t.Errorf("%q, want %q", got, want)
	}
	if out, err := otel.Inject(t.Context(), nil); out != nil || err != nil || otel.InjectSystem(t.Context(), nil) != nil {
		t.Errorf("without a span: %v, %v, %v", out, err, otel.InjectSystem(t.Context(), nil))
	}
	own := map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {StringValue: aws.String("own")}}
	if got := *otel.InjectSystem(ctx, own)["AWSTraceHeader"].StringValue; got != "own" {
		t.Errorf("the header that was there is %q", got)
	}
}

// A propagator of the user's own, at both ends.
func TestAnotherPropagator(t *testing.T) {
	inWorld(t, false, otel.Config{Propagator: propagation.Baggage{}}, func(w *world) {
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
