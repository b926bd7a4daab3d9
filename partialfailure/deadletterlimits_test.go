package partialfailure_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestRule17TheReasonYieldsToTheLimits(t *testing.T) {
	ten := map[string]types.MessageAttributeValue{}
	for i := range 10 {
		ten[fmt.Sprintf("a%d", i)] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("x")}
	}
	nine := maps.Clone(ten)
	delete(nine, "a9")
	ours := map[string]types.MessageAttributeValue{
		partialfailure.ReasonAttribute: {DataType: aws.String("String"), StringValue: aws.String("an earlier one")},
	}
	bytes := map[string]types.MessageAttributeValue{"b": {DataType: aws.String("Binary"), BinaryValue: make([]byte, 1000)}}
	// A body that leaves room for a reason of 1,024 bytes under its name and type, and no more.
	room := 1<<20 - len(partialfailure.ReasonAttribute) - len("String") - 1024
	body := func(size int) *string { return aws.String(strings.Repeat("x", size-6) + ":never") }
	for name, c := range map[string]struct {
		in     awssqs.SendMessageInput
		reason bool
	}{
		"nine attributes":               {awssqs.SendMessageInput{MessageBody: aws.String("never"), MessageAttributes: nine}, true},
		"ten attributes":                {awssqs.SendMessageInput{MessageBody: aws.String("never"), MessageAttributes: ten}, false},
		"a body of 1 MiB":               {awssqs.SendMessageInput{MessageBody: body(1 << 20)}, false},
		"room for the longest reason":   {awssqs.SendMessageInput{MessageBody: body(room)}, true},
		"a byte too few":                {awssqs.SendMessageInput{MessageBody: body(room + 1)}, false},
		"binary attributes count":       {awssqs.SendMessageInput{MessageBody: body(room - 1000), MessageAttributes: bytes}, false},
		"the reason of an earlier time": {awssqs.SendMessageInput{MessageBody: aws.String("never"), MessageAttributes: ours}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, false, func(f *fixture) {
				f.SendInput(&c.in)
				results := f.invoke(f.Receive(10), byBody)
				dead := f.DeadLetters()
				if results[0].Outcome != batch.DeadLettered || len(dead) != 1 || *dead[0].Body != *c.in.MessageBody {
					t.Fatalf("%v, %d dead letters, warnings %q", results[0].Outcome, len(dead), f.warnings)
				}
				want := len(c.in.MessageAttributes)
				if _, had := c.in.MessageAttributes[partialfailure.ReasonAttribute]; c.reason && !had {
					want++
				}
				if got := len(dead[0].MessageAttributes); got != want {
					t.Errorf("%d attributes, want %d", got, want)
				}
				if a := dead[0].MessageAttributes[partialfailure.ReasonAttribute]; c.reason && aws.ToString(a.StringValue) != "no such thing" {
					t.Errorf("the reason is %q", aws.ToString(a.StringValue))
				}
			})
		})
	}
}

func TestRule17TheReasonIsMadeFitForSQS(t *testing.T) {
	inBubble(t, false, func(f *fixture) {
		f.Send("x")
		long := strings.Repeat("é", 2000)
		f.invoke(f.Receive(10), func(context.Context, batch.Record) error {
			return batch.Permanent(errors.New("bell \a, bytes \xff\xfe, " + long))
		})
		dead := f.DeadLetters()
		if len(dead) != 1 {
			t.Fatalf("%d dead letters, warnings %q", len(dead), f.warnings)
		}
		reason := *dead[0].MessageAttributes[partialfailure.ReasonAttribute].StringValue
		if !strings.HasPrefix(reason, "bell \uFFFD, bytes \uFFFD\uFFFD, éé") || len(reason) > 1024 || !strings.HasSuffix(reason, "é") {
			t.Errorf("the reason is %q", reason)
		}
	})
}

func TestRule17BigRecordsAreSplitOverCalls(t *testing.T) {
	inBubble(t, false, func(f *fixture) {
		for range 5 { // 400 KB each: two to a call
			f.Send(strings.Repeat("x", 400_000) + ":never")
		}
		records := f.Receive(10)
		f.settling.DeadLetterQueue = f.DeadLetterURL
		f.ForgetCalls()
		results := f.invoke(records, byBody)
		for _, r := range results {
			if r.Outcome != batch.DeadLettered {
				t.Errorf("%v, warnings %q", r.Outcome, f.warnings)
			}
		}
		if got := f.Calls(); len(got) != 3 {
			t.Errorf("calls %v, want 3", got)
		}
	})
}
