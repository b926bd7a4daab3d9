package otel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// sent sends a message in a span of its own, which it returns.
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
		if in.MessageAttributes, err = otel.Inject(baggage.ContextWithBaggage(ctx, bag), nil); err != nil {
			w.t.Fatal(err)
		}
	}
	if system {
		in.MessageSystemAttributes = otel.InjectSystem(ctx, nil)
	}
	w.SendInput(in)
	return span.SpanContext()
}

// linked are the ids of the spans that a span links to.
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
		inWorldRun(t, c.name, false, otel.Options{}, func(w *world) {
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
		w.inContainer(h, w.config(), time.Minute)
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
		{lambda: false, fifo: true, n: 2, parent: false},
	} {
		inWorldRun(t, fmt.Sprintf("%+v", c), c.fifo, otel.Options{SenderAsParent: true}, func(w *world) {
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

// withHeader makes aws-lambda-go's context value.
func withHeader(header string) func(invoke) invoke {
	return func(next invoke) invoke {
		return func(ctx context.Context, payload []byte) ([]byte, error) {
			//lint:ignore SA1029 it is the key that aws-lambda-go uses
			return next(context.WithValue(ctx, "x-amzn-trace-id", header), payload)
		}
	}
}

func TestTheTraceOfTheInvocation(t *testing.T) {
	const header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled="
	for _, c := range []struct {
		option  otel.Invocation
		sampled string
		want    string // of the batch's span
	}{
		{otel.InvocationSampled, "1", "child"},
		{otel.InvocationSampled, "0", "link"},
		{otel.InvocationContinued, "1", "child"},
		{otel.InvocationContinued, "0", "nothing"}, // the SDK's sampler respects the parent
		{otel.InvocationLinked, "1", "link"},
		{otel.InvocationLinked, "0", "link"},
	} {
		inWorldRun(t, fmt.Sprint(c.option, c.sampled), false, otel.Options{Invocation: c.option}, func(w *world) {
			w.Send("ok")
			w.onLambda(byBody, w.config(), withHeader(header+c.sampled))
			_, batches := w.byID()
			got := "nothing"
			for _, b := range batches {
				switch {
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

// A span that is there already, such as otellambda's, is the parent.
func TestTheSpanOfTheInvocation(t *testing.T) {
	inWorld(t, false, otel.Options{Invocation: otel.InvocationLinked}, func(w *world) {
		w.Send("ok")
		var function trace.SpanContext
		w.onLambda(byBody, w.config(), func(next invoke) invoke {
			return func(ctx context.Context, payload []byte) ([]byte, error) {
				ctx, span := w.tracer.Start(ctx, "function", trace.WithSpanKind(trace.SpanKindServer))
				defer span.End()
				function = span.SpanContext()
				return next(ctx, payload)
			}
		})
		_, others := w.byID()
		for _, s := range others {
			if s.Name == "process orders" && (s.Parent.SpanID() != function.SpanID() || len(s.Links) != 0) {
				t.Errorf("the batch's parent is %v, its links %v", s.Parent, s.Links)
			}
		}
	})
}
