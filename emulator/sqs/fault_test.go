package sqs_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func (b *bench) inject(faults ...sqs.Fault) {
	b.Helper()
	b.ok(b.server.Inject(faults...))
}

// try sends a body and returns the error.
func (b *bench) try(ctx context.Context, queue *string, body string) error {
	_, err := b.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: &body})
	return err
}

func TestFaultsThatHaveNoEffect(t *testing.T) {
	cases := map[string]struct {
		fault sqs.Fault
		check func(b *bench, err error)
		ended string // what the history says
	}{
		"throttled": {sqs.Fault{Kind: sqs.Throttled}, func(b *bench, err error) { wantType[*types.RequestThrottled](b, err) }, "RequestThrottled"},
		"failure":   {sqs.Fault{Kind: sqs.Failure}, func(b *bench, err error) { b.wantCode(err, "InternalError") }, "InternalError"},
		"denied":    {sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied"}, func(b *bench, err error) { b.wantCode(err, "AccessDenied") }, "AccessDenied"},
		"a modelled code": {sqs.Fault{Kind: sqs.Failure, Code: "OverLimit"},
			func(b *bench, err error) { wantType[*types.OverLimit](b, err) }, "OverLimit"},
		"refused": {sqs.Fault{Kind: sqs.Refused}, func(b *bench, err error) {
			if !errors.Is(err, syscall.ECONNREFUSED) {
				b.Errorf("error %v", err)
			}
		}, "no answer"},
		"hang": {sqs.Fault{Kind: sqs.Hang}, func(b *bench, err error) {
			if !errors.Is(err, context.DeadlineExceeded) {
				b.Errorf("error %v", err)
			}
		}, "no answer"},
	}
	for name, c := range cases {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders")
			c.fault.Operation = "SendMessage"
			b.inject(c.fault)
			ctx, cancel := context.WithTimeout(b.ctx, time.Hour)
			defer cancel()
			c.check(b, b.try(ctx, queue, "a"))
			b.counts(queue, "0", "0", "0")
			if calls := b.server.Calls("SendMessage"); len(calls) != 1 || calls[0].Error != c.ended || calls[0].Fault != c.fault.Kind {
				b.Errorf("calls %+v", calls)
			}
			b.server.ClearFaults()
			b.send(queue, "a")
			b.counts(queue, "1", "0", "0")
		})
	}
}

// The SDK's own retries make good what is not the sender's fault.
func TestClientsRetryFaults(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Throttled, sqs.Failure, sqs.Refused, sqs.LostAnswer} {
		virtualRun(t, string(kind), func(b *bench) {
			queue := b.queue("orders")
			b.inject(sqs.Fault{Kind: kind, Operation: "DeleteMessage", Times: 2})
			b.send(queue, "a")
			retrying := awssqs.New(b.Options(), func(o *awssqs.Options) { o.Retryer = retry.NewStandard() })
			_, err := retrying.DeleteMessage(b.ctx, &awssqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: b.one(queue).ReceiptHandle})
			if err != nil {
				b.Error(err)
			}
			b.counts(queue, "0", "0", "0")
			if n := len(b.server.Calls("DeleteMessage")); n != 3 { // the SDK's default number of tries
				b.Errorf("%d calls, want 3", n)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Throttled, sqs.Failure} {
		virtualRun(t, string(kind), func(b *bench) {
			queue := b.queue("orders")
			b.inject(sqs.Fault{Kind: kind, Operation: "SendMessage", Times: 1, RetryAfter: 1500 * time.Millisecond})
			var answer *smithyhttp.ResponseError
			if err := b.try(b.ctx, queue, "a"); !errors.As(err, &answer) || answer.Response.Header.Get("X-Amz-Retry-After") != "1500" {
				b.Errorf("error %v, %+v", err, answer)
			}
			b.send(queue, "a")
			b.counts(queue, "1", "0", "0")
		})
	}
}

func TestLatency(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.inject(sqs.Fault{Kind: sqs.Latency, Latency: 7 * time.Second, Operation: "SendMessage"})
		begin := time.Now()
		b.send(queue, "a")
		if took := time.Since(begin); took != 7*time.Second {
			b.Errorf("took %v", took)
		}
		if call := b.server.Calls("SendMessage")[0]; call.Ended.Sub(call.Began) != 7*time.Second {
			b.Errorf("%+v", call)
		}
		// A client that leaves meanwhile sends nothing.
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		if err := b.try(ctx, queue, "b"); !errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("error %v", err)
		}
		b.counts(queue, "1", "0", "0")
	})
}

func TestCloseEndsWhatHangs(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.inject(sqs.Fault{Kind: sqs.Hang})
		ended := make(chan error, 1)
		go func() { ended <- b.try(b.ctx, queue, "a") }()
		synctest.Wait()
		b.ok(b.server.Close())
		b.wantCode(<-ended, "ServiceUnavailable")
	})
}

func TestLostAnswer(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.inject(sqs.Fault{Kind: sqs.LostAnswer, Times: 1})
		if err := b.try(b.ctx, queue, "a"); !errors.Is(err, syscall.ECONNRESET) {
			b.Errorf("error %v", err)
		}
		b.counts(queue, "1", "0", "0")
		if calls := b.server.Calls("SendMessage"); len(calls) != 1 || calls[0].Error != "no answer" || calls[0].Fault != sqs.LostAnswer {
			b.Errorf("calls %+v", calls)
		}
	})
}

func TestEntryFailure(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.inject(
			sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Skip: 1, Times: 1},
			sqs.Fault{Kind: sqs.EntryFailure, Operation: "DeleteMessageBatch", Code: "ReceiptHandleIsInvalid"})
		out, err := b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("1"), MessageBody: aws.String("a")},
			{Id: aws.String("2"), MessageBody: aws.String("b")},
			{Id: aws.String("3"), MessageBody: aws.String("c")},
		}})
		b.ok(err)
		if len(out.Failed) != 1 || *out.Failed[0].Id != "2" || *out.Failed[0].Code != "InternalError" || out.Failed[0].SenderFault {
			b.Errorf("failed %+v", out.Failed)
		}
		if call := b.server.Calls("SendMessageBatch")[0]; call.Messages != 3 || call.Failed != 1 || call.Error != "" || call.Queue != "orders" {
			b.Errorf("%+v", call)
		}
		messages := b.receive(queue)
		if bodies(messages) != "a c" {
			b.Errorf("received %q", bodies(messages))
		}
		deleted, err := b.DeleteMessageBatch(b.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("1"), ReceiptHandle: messages[0].ReceiptHandle}}})
		if err != nil || len(deleted.Failed) != 1 || !deleted.Failed[0].SenderFault {
			b.Errorf("%+v, %v", deleted, err)
		}
		b.counts(queue, "0", "2", "0")
	})
}

// A message may be stored although SQS answers with an error of its own.
func TestCarriedOut(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		b.inject(
			sqs.Fault{Kind: sqs.Failure, Operation: "SendMessage", CarriedOut: true, Times: 1},
			sqs.Fault{Kind: sqs.EntryFailure, CarriedOut: true, Skip: 1, Times: 1})
		b.wantCode(b.try(b.ctx, queue, "a"), "InternalError")
		b.counts(queue, "1", "0", "0")
		if calls := b.server.Calls("SendMessage"); len(calls) != 1 || calls[0].Error != "InternalError" || calls[0].Fault != sqs.Failure {
			b.Errorf("calls %+v", calls)
		}
		out, err := b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("1"), MessageBody: aws.String("b")},
			{Id: aws.String("2"), MessageBody: aws.String("c")},
		}})
		if err != nil || len(out.Successful) != 1 || len(out.Failed) != 1 || *out.Failed[0].Id != "2" || out.Failed[0].SenderFault {
			b.Errorf("%+v, %v", out, err)
		}
		b.wantReceived(queue, "a b c")
	})
}

func TestInvalidFaults(t *testing.T) {
	for want, f := range map[string]sqs.Fault{
		`Fault.Kind is ""`:                 {},
		`Fault.Kind is "slow"`:             {Kind: "slow"},
		"Fault.Operation":                  {Kind: sqs.Hang, Operation: "Receive"},
		`Operation of kind "out of`:        {Kind: sqs.OutOfOrder, Operation: "SendMessage"},
		"Fault.Probability":                {Kind: sqs.Hang, Probability: 1.1},
		"Fault.Skip":                       {Kind: sqs.Hang, Skip: -1},
		"Fault.Times":                      {Kind: sqs.Hang, Times: -1},
		`Latency of kind "latency" is`:     {Kind: sqs.Latency},
		`Latency of kind "hang"`:           {Kind: sqs.Hang, Latency: time.Second},
		"Fault.Code":                       {Kind: sqs.Throttled, Code: "AccessDenied"},
		"Fault.CarriedOut":                 {Kind: sqs.Throttled, CarriedOut: true},
		"RetryAfter of kind \"throttled\"": {Kind: sqs.Throttled, RetryAfter: time.Microsecond},
		"RetryAfter of kind \"failure\"":   {Kind: sqs.Failure, RetryAfter: -time.Second},
		"RetryAfter of kind \"hang\"":      {Kind: sqs.Hang, RetryAfter: time.Second},
		"is \"http://q/0/orders\": want":   {Kind: sqs.Hang, Queue: "http://q/0/orders"},
		"is \"arn:aws:sqs":                 {Kind: sqs.Hang, Queue: "arn:aws:sqs:us-east-1:000000000000:orders"},
		"a standard queue":                 {Kind: sqs.DuplicateDelivery, Queue: "orders.fifo"},
		"is orders.fifo":                   {Kind: sqs.OutOfOrder, Queue: "orders.fifo"},
		"it can strike no other":           {Kind: sqs.EmptyReceive, Queue: "orders.fifo"},
	} {
		server := sqs.New(sqs.Options{})
		if err := server.Inject(sqs.Fault{Kind: sqs.Hang}, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
		if _, err := sqs.Serve("127.0.0.1:0", sqs.Options{Faults: []sqs.Fault{f}}); err == nil || !strings.Contains(err.Error(), "Options.Faults[0]") {
			t.Errorf("Serve: %v", err)
		}
		if _, err := newClient(server).ListQueues(t.Context(), &awssqs.ListQueuesInput{}); err != nil {
			t.Errorf("a fault was added next to an invalid one: %v", err)
		}
	}
}

func TestBrokenConnectionsOverASocket(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.LostAnswer} {
		b := serve(t, sqs.Options{})
		queue := b.queue("orders")
		b.inject(sqs.Fault{Kind: kind, Operation: "SendMessage"})
		if err := b.try(b.ctx, queue, "a"); err == nil {
			t.Errorf("%s: no error", kind)
		} else {
			var answer interface{ ErrorCode() string }
			if errors.As(err, &answer) {
				t.Errorf("%s: the error %v was answered", kind, err)
			}
		}
		b.counts(queue, map[sqs.FaultKind]string{sqs.Refused: "0", sqs.LostAnswer: "1"}[kind], "0", "0")
	}
}
