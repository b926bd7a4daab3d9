package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func (b *bench) inject(faults ...sqs.Fault) {
	b.Helper()
	b.ok(b.server.Inject(faults...))
}

func TestFaultsOfCalls(t *testing.T) {
	causedBy := func(cause error) func(error) bool {
		return func(err error) bool { return errors.Is(err, cause) }
	}
	for name, c := range map[string]struct {
		fault sqs.Fault
		right func(error) bool // whether the error is the expected one
		ended string           // Call.Error in the history
		sent  bool             // a message may be stored although SQS answers with a server error
	}{
		"throttled":       {sqs.Fault{Kind: sqs.Throttled}, is[*types.RequestThrottled], "RequestThrottled", false},
		"failure":         {sqs.Fault{Kind: sqs.Failure}, is[smithy.APIError], "InternalError", false},
		"carried out":     {sqs.Fault{Kind: sqs.Failure, CarriedOut: true}, is[smithy.APIError], "InternalError", true},
		"denied":          {sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied"}, is[smithy.APIError], "AccessDenied", false},
		"a modelled code": {sqs.Fault{Kind: sqs.Failure, Code: "OverLimit"}, is[*types.OverLimit], "OverLimit", false},
		"refused":         {sqs.Fault{Kind: sqs.Refused}, causedBy(syscall.ECONNREFUSED), "no answer", false},
		"lost answer":     {sqs.Fault{Kind: sqs.LostAnswer}, causedBy(syscall.ECONNRESET), "no answer", true},
		"hang":            {sqs.Fault{Kind: sqs.Hang}, causedBy(context.DeadlineExceeded), "no answer", false},
	} {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders")
			c.fault.Operation = "SendMessage"
			b.inject(c.fault)
			ctx, cancel := context.WithTimeout(b.ctx, time.Hour)
			defer cancel()
			if err := b.try(ctx, queue, "a"); !c.right(err) || c.ended != "no answer" && clientErrorOf(err).code != c.ended {
				b.Errorf("error %v", err)
			}
			if calls := b.server.Calls("SendMessage"); len(calls) != 1 || calls[0].Error != c.ended || calls[0].Fault != c.fault.Kind {
				b.Errorf("calls %+v", calls)
			}
			b.server.ClearFaults()
			b.counts(queue, fmt.Sprint(btoi(c.sent)), "0", "0")
			b.send(queue, "a")
			b.counts(queue, fmt.Sprint(btoi(c.sent)+1), "0", "0")
		})
	}
}

// The SDK retries errors that are not the sender's fault.
func TestClientsRetryFaults(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Throttled, sqs.Failure, sqs.Refused, sqs.LostAnswer} {
		virtualRun(t, string(kind), func(b *bench) {
			queue := b.queue("orders")
			b.inject(sqs.Fault{Kind: kind, Operation: "DeleteMessage", Times: 2})
			b.send(queue, "a")
			retrying := awssqs.New(b.Options(), func(o *awssqs.Options) { o.Retryer = retry.NewStandard() })
			b.ok(errOf(retrying.DeleteMessage(b.ctx, &awssqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: b.one(queue).ReceiptHandle})))
			b.counts(queue, "0", "0", "0")
			equal(b, "calls", len(b.server.Calls("DeleteMessage")), 3) // the SDK's default number of tries
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
	withOrders(t, func(b *bench, queue *string) {
		b.inject(sqs.Fault{Kind: sqs.Latency, Latency: 7 * time.Second, Operation: "SendMessage"})
		begin := time.Now()
		b.send(queue, "a")
		equal(b, "took", time.Since(begin), 7*time.Second)
		call := b.server.Calls("SendMessage")[0]
		equal(b, "took, by the history", call.Ended.Sub(call.Began), 7*time.Second)
		// A message of a client that leaves meanwhile is not sent.
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		b.wantCause(b.try(ctx, queue, "b"), context.DeadlineExceeded)
		b.counts(queue, "1", "0", "0")
	})
}

func TestEntryFailure(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.inject(
			sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Skip: 1, Times: 1},
			sqs.Fault{Kind: sqs.EntryFailure, Operation: "DeleteMessageBatch", Code: "ReceiptHandleIsInvalid"})
		out := b.sendBatch(queue, "a", "b", "c")
		if len(out.Failed) != 1 || *out.Failed[0].Id != "2" || *out.Failed[0].Code != "InternalError" || out.Failed[0].SenderFault {
			b.Errorf("failed %+v", out.Failed)
		}
		if call := b.server.Calls("SendMessageBatch")[0]; call.Messages != 3 || call.Failed != 1 || call.Error != "" || call.Queue != "orders" {
			b.Errorf("%+v", call)
		}
		messages := b.receive(queue)
		equal(b, "received", bodies(messages), "a c")
		deleted, err := b.DeleteMessageBatch(b.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("1"), ReceiptHandle: messages[0].ReceiptHandle}, {Id: aws.String("2"), ReceiptHandle: messages[1].ReceiptHandle}}})
		if err != nil || len(deleted.Successful) != 0 || len(deleted.Failed) != 2 || !deleted.Failed[0].SenderFault {
			b.Errorf("%+v, %v", deleted, err)
		}
		b.counts(queue, "0", "2", "0")
	})
}

func TestEntriesCarriedOut(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.inject(sqs.Fault{Kind: sqs.EntryFailure, CarriedOut: true, Skip: 1, Times: 1})
		out := b.sendBatch(queue, "a", "b")
		if len(out.Successful) != 1 || len(out.Failed) != 1 || *out.Failed[0].Id != "2" || out.Failed[0].SenderFault {
			b.Errorf("%+v", out)
		}
		b.wantReceived(queue, "a b")
	})
}

// sendBatch sends bodies as the entries 1, 2 and so on.
func (b *bench) sendBatch(queue *string, bodies ...string) *awssqs.SendMessageBatchOutput {
	b.Helper()
	in := &awssqs.SendMessageBatchInput{QueueUrl: queue}
	for i, body := range bodies {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i + 1)), MessageBody: &body})
	}
	out, err := b.SendMessageBatch(b.ctx, in)
	b.ok(err)
	return out
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
		"the kind affects no others":       {Kind: sqs.EmptyReceive, Queue: "orders.fifo"},
	} {
		server := sqs.New(sqs.Config{})
		if err := server.Inject(sqs.Fault{Kind: sqs.Hang}, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
		if _, err := sqs.Serve("127.0.0.1:0", sqs.Config{Faults: []sqs.Fault{f}}); err == nil || !strings.Contains(err.Error(), "Config.Faults[0]") {
			t.Errorf("Serve: %v", err)
		}
		if _, err := newClient(server).ListQueues(t.Context(), &awssqs.ListQueuesInput{}); err != nil {
			t.Errorf("a fault was added next to an invalid one: %v", err)
		}
	}
}

func TestBrokenConnectionsOverASocket(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.LostAnswer} {
		b := serve(t, sqs.Config{})
		queue := b.queue("orders")
		b.inject(sqs.Fault{Kind: kind, Operation: "SendMessage"})
		if err := b.try(b.ctx, queue, "a"); err == nil || is[smithy.APIError](err) {
			t.Errorf("%s: error %v, want one that was not answered", kind, err)
		}
		b.counts(queue, map[sqs.FaultKind]string{sqs.Refused: "0", sqs.LostAnswer: "1"}[kind], "0", "0")
	}
}

func TestDuplicateDelivery(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.send(queue, "a", "b", "c")
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Skip: 1, Times: 1})
		first := b.receive(queue)
		equal(b, "received", bodies(first), "a b c") // a receive never returns a message twice
		second := b.receive(queue)
		if bodies(second) != "b" || second[0].Attributes["ApproximateReceiveCount"] != "2" {
			b.Fatalf("then %q", bodies(second))
		}
		b.ok(b.delete(queue, first[1].ReceiptHandle)) // an old handle: succeeds, and deletes nothing
		b.counts(queue, "0", "3", "0")
		// FIFO queues promise order and exactly-once processing.
		b.server.ClearFaults()
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery}, sqs.Fault{Kind: sqs.OutOfOrder}, sqs.Fault{Kind: sqs.EmptyReceive})
		fifo := b.queue("orders.fifo")
		b.sendFIFO(fifo, "g", "a", "b", "c")
		b.wantReceived(fifo, "a b c")
		b.counts(fifo, "0", "3", "0")
	})
}

// A consumer that deletes each batch before the next receive gets every message twice. The
// second delete has effect.
func TestDuplicateDeliveryAfterTheDelete(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery})
		b.send(queue, "a", "b")
		for range 2 {
			messages := b.receive(queue)
			equal(b, "received", bodies(messages), "a b")
			for _, m := range messages {
				b.ok(b.delete(queue, m.ReceiptHandle))
			}
		}
		b.counts(queue, "0", "0", "0")
		equal(b, "events", b.kinds(), "sent sent received received returned returned received received deleted deleted")
		// A message that is not deleted the second time is an ordinary message again.
		b.send(queue, "c")
		b.one(queue)
		b.one(queue, hiddenFor(5))
		b.wantReceived(queue, "") // there is no copy of the copy
		time.Sleep(5 * time.Second)
		equal(b, "ApproximateReceiveCount", b.one(queue).Attributes["ApproximateReceiveCount"], "3")
	})
}

func TestOutOfOrder(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		all := strings.Fields("a b c d e f g h")
		b.send(queue, all...)
		b.inject(sqs.Fault{Kind: sqs.OutOfOrder})
		if got := strings.Fields(bodies(b.receive(queue))); len(got) != len(all) || slices.Equal(got, all) {
			b.Errorf("received %v", got)
		}
	})
}

func TestEmptyReceive(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.send(queue, "a")
		b.inject(sqs.Fault{Kind: sqs.EmptyReceive})
		b.wantReceived(queue, "")              // a short poll
		b.wantReceived(queue, "a", waiting(1)) // a long poll finds it
	})
}

// clientError is an error as a client gets it.
type clientError struct {
	code   string
	fault  smithy.ErrorFault
	status int
}

// clientErrorOf returns the client's view of an error.
func clientErrorOf(err error) (t clientError) {
	if failure, ok := errors.AsType[smithy.APIError](err); ok {
		t.code, t.fault = failure.ErrorCode(), failure.ErrorFault()
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		t.status = response.HTTPStatusCode()
	}
	return t
}

// An injected error, by its name or by its code, equals the server's own error.
func TestInjectedErrorsAreGenuine(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		missing := *queue + "-missing"
		purge := func() error { return b.purge(queue) }
		b.ok(purge())
		fifo := b.queue("orders.fifo")
		b.sendFIFO(fifo, "g", "a")
		m := b.one(fifo, hiddenFor(1))
		time.Sleep(time.Second)
		for _, c := range []struct {
			do    func() error
			names []string
			typed func(error) bool
		}{
			{func() error { return b.try(b.ctx, &missing, "a") },
				[]string{"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "NonExistentQueue"}, is[*types.QueueDoesNotExist]},
			{func() error { return b.delete(queue, aws.String("none")) }, []string{"ReceiptHandleIsInvalid"}, is[*types.ReceiptHandleIsInvalid]},
			{func() error { return b.hide(fifo, m.ReceiptHandle, 1) },
				[]string{"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"}, is[*types.MessageNotInflight]},
			{purge, []string{"PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress"}, is[*types.PurgeQueueInProgress]},
			{func() error { return b.try(b.ctx, queue, "\x00") }, []string{"InvalidMessageContents"}, is[*types.InvalidMessageContents]},
			{func() error { return b.try(b.ctx, queue, "") }, []string{"MissingParameter", "MissingRequiredParameterException"}, nil},
		} {
			genuine := c.do()
			if c.typed != nil && !c.typed(genuine) {
				b.Fatalf("%v is not the error that was meant", genuine)
			}
			for _, name := range c.names {
				b.inject(sqs.Fault{Kind: sqs.Failure, Code: name})
				injected := b.try(b.ctx, queue, "a")
				b.server.ClearFaults()
				if clientErrorOf(injected) != clientErrorOf(genuine) || c.typed != nil && !c.typed(injected) {
					b.Errorf("%s: %+v (%v), the server's own is %+v", name, clientErrorOf(injected), injected, clientErrorOf(genuine))
				}
			}
		}
	})
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// The codes and statuses of errors that the server never returns itself.
func TestInjectedErrors(t *testing.T) {
	for code, want := range map[string]clientError{
		"":                        {"InternalError", smithy.FaultServer, http.StatusInternalServerError},
		"InternalFailure":         {"InternalError", smithy.FaultServer, http.StatusInternalServerError},
		"ServiceUnavailable":      {"ServiceUnavailable", smithy.FaultServer, http.StatusServiceUnavailable},
		"AccessDenied":            {"AccessDenied", smithy.FaultClient, http.StatusForbidden},
		"RequestThrottled":        {"RequestThrottled", smithy.FaultClient, http.StatusForbidden},
		"OverLimit":               {"OverLimit", smithy.FaultClient, http.StatusForbidden},
		"KmsThrottled":            {"KMS.ThrottlingException", smithy.FaultClient, http.StatusBadRequest},
		"KMS.ThrottlingException": {"KMS.ThrottlingException", smithy.FaultClient, http.StatusBadRequest},
		"ThrottlingException":     {"ThrottlingException", smithy.FaultClient, http.StatusBadRequest},
	} {
		withOrders(t, func(b *bench, queue *string) {
			b.inject(sqs.Fault{Kind: sqs.Failure, Code: code})
			equal(b, "the code "+code, clientErrorOf(b.try(b.ctx, queue, "a")), want)
		})
	}
}

// The faults that are left do not include those that are used up.
func TestFaults_AreThoseThatAreLeft(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.inject(
			sqs.Fault{Kind: sqs.Throttled, Operation: "SendMessage", Times: 1}, sqs.Fault{Kind: sqs.Failure, Operation: "SendMessage", Times: 3},
			sqs.Fault{Kind: sqs.Latency, Operation: "PurgeQueue", Latency: time.Second},
		)
		for range 2 {
			_ = b.try(b.ctx, queue, "a")
		}
		if left := b.server.Faults(); !slices.Equal(left, []sqs.Fault{
			{Kind: sqs.Failure, Operation: "SendMessage", Times: 2}, {Kind: sqs.Latency, Operation: "PurgeQueue", Latency: time.Second},
		}) {
			b.Errorf("%+v are left", left)
		}
		b.server.ClearFaults()
		equal(b, "the number of faults after all were removed", len(b.server.Faults()), 0)
	})
}

// struck returns which of n sends the last of the faults affected.
func struck(t *testing.T, seed uint64, n int, others bool, faults ...sqs.Fault) string {
	var seen strings.Builder
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sqs.Config{Seed: seed, Faults: faults})
		queue := b.queue("orders")
		for range n {
			if others {
				b.attributes(queue)
			}
			_ = b.try(b.ctx, queue, "a")
		}
		for _, call := range b.server.Calls("SendMessage") {
			seen.WriteByte(".x"[btoi(call.Fault == last(faults).Kind)])
		}
	})
	return seen.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestWhichCallsAreStruck(t *testing.T) {
	throttled := func(f sqs.Fault) sqs.Fault { f.Kind, f.Operation = sqs.Throttled, "SendMessage"; return f }
	for name, c := range map[string]struct {
		fault sqs.Fault
		want  string
	}{
		"every one":           {sqs.Fault{}, "xxxxxx"},
		"all but the first":   {sqs.Fault{Skip: 1}, ".xxxxx"},
		"two of them":         {sqs.Fault{Skip: 3, Times: 2}, "...xx."},
		"of this queue":       {sqs.Fault{Queue: "orders"}, "xxxxxx"},
		"of another queue":    {sqs.Fault{Queue: "order"}, "......"},
		"another probability": {sqs.Fault{Probability: 1}, "xxxxxx"},
	} {
		equal(t, name, struck(t, 0, 6, false, throttled(c.fault)), c.want)
	}
	const n = 400
	some := throttled(sqs.Fault{Probability: 0.25})
	one := struck(t, 1, n, false, some)
	if count := strings.Count(one, "x"); count < n/4-40 || count > n/4+40 {
		t.Errorf("%d of %d calls struck at a probability of 0.25", count, n)
	}
	if other := struck(t, 1, n, true, sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Probability: 0.5}, some); other != one {
		t.Error("the same seed struck other calls because of what other calls and faults did")
	}
	if struck(t, 2, n, false, some) == one {
		t.Error("another seed struck the same calls")
	}
	times := struck(t, 1, n, false, throttled(sqs.Fault{Probability: 0.25, Times: 3}))
	equal(t, "calls struck with Times 3", strings.Count(times, "x"), 3)
}

// The calls that a fault affects do not depend on other faults, even if these were injected
// before or affect the same calls first.
func TestFaultsAreIndependent(t *testing.T) {
	const n = 100
	struck := func(faults ...sqs.Fault) string { return struck(t, 7, n, false, faults...) }
	failure := sqs.Fault{Kind: sqs.Failure, Operation: "SendMessage", Probability: 0.3}
	alone := struck(failure)
	for name, other := range map[string]sqs.Fault{
		"of another operation": {Kind: sqs.Latency, Latency: time.Second, Operation: "PurgeQueue"},
		"that acts first":      {Kind: sqs.Latency, Latency: time.Second},
		"of another error":     {Kind: sqs.Failure, Operation: "PurgeQueue"},
	} {
		equal(t, "next to a fault "+name, struck(other, failure), alone)
	}
	lost := sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessage", Probability: 0.5}
	want := []byte(struck(lost))
	for i := range want {
		if alone[i] == 'x' {
			want[i] = '.' // a call that fails has no effect whose answer could be lost
		}
	}
	equal(t, "next to failures", struck(failure, lost), string(want))
	// A fault that acts first replaces it for one call, and for no others.
	equal(t, "next to five refused calls", struck(sqs.Fault{Kind: sqs.Refused, Operation: "SendMessage", Times: 5}, failure), "....."+alone[5:])
	twice := struck(sqs.Fault{Kind: sqs.Refused, Operation: "SendMessage", Times: 5}, sqs.Fault{Kind: sqs.Failure, Operation: "SendMessage", Times: 2})
	if !strings.HasPrefix(twice, ".....xx...") {
		t.Errorf("%s: the calls that another fault struck are of its Times", twice)
	}
	// With a higher probability, it affects the same calls and more.
	more := failure
	more.Probability = 0.6
	for i, c := range []byte(struck(more)) {
		if c == '.' && alone[i] == 'x' {
			t.Errorf("call %d is struck at a probability of 0.3, not at 0.6", i)
		}
	}
	// Two equal faults have different draws.
	if alone == struck(failure, failure) {
		t.Error("two faults that are alike strike the same calls")
	}
}
