package sqs_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// told is what a client sees of an error.
type told struct {
	code   string
	fault  smithy.ErrorFault
	status int
}

func tell(err error) (t told) {
	if failure, ok := errors.AsType[smithy.APIError](err); ok {
		t.code, t.fault = failure.ErrorCode(), failure.ErrorFault()
	}
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		t.status = response.HTTPStatusCode()
	}
	return t
}

// An error that is injected, by its name or by its code, is the one that the
// server itself answers with.
func TestInjectedErrorsAreGenuine(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
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
				if tell(injected) != tell(genuine) || c.typed != nil && !c.typed(injected) {
					b.Errorf("%s: %+v (%v), the server's own is %+v", name, tell(injected), injected, tell(genuine))
				}
			}
		}
	})
}

func is[E error](err error) bool {
	var typed E
	return errors.As(err, &typed)
}

// The codes and statuses of errors that the server has no occasion for.
func TestInjectedErrors(t *testing.T) {
	for code, want := range map[string]told{
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
		virtual(t, func(b *bench) {
			queue := b.queue("orders")
			b.inject(sqs.Fault{Kind: sqs.Failure, Code: code})
			if got := tell(b.try(b.ctx, queue, "a")); got != want {
				b.Errorf("%q: %+v, want %+v", code, got, want)
			}
		})
	}
}
