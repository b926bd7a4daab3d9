package emf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

// Each invocation writes one line, which CloudWatch Logs reads as metrics. A program leaves
// Writer out: the lines go to standard output.
func Example() {
	var lines bytes.Buffer
	h, err := handler.New(batch.Text(func(_ context.Context, id string) error {
		if id == "" {
			return errors.New("the order has no id")
		}
		return nil
	}), handler.Config{
		Hooks:  emf.New(emf.Config{Service: "orders", Writer: &lines}).Hooks(),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	if _, err := h.Invoke(context.Background(), []byte(`{"Records":[
		{"messageId":"m-1","receiptHandle":"r-1","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:orders","body":"o-1"},
		{"messageId":"m-2","receiptHandle":"r-2","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:orders","body":""}
	]}`)); err != nil {
		panic(err)
	}
	var line struct {
		Service, Queue                   string
		RecordsSucceeded, RecordsRetried int
	}
	if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", line)
	// Output: {Service:orders Queue:orders RecordsSucceeded:1 RecordsRetried:1}
}
