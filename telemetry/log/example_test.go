package log_test

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// A second log, in a format of one's own: package handler installs the first by itself.
func Example() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "durationMs" {
				return slog.Attr{} // they differ from run to run
			}
			return a
		},
	}))
	hooks := log.New(logger, log.Config{})
	// handler.RunWith(h, handler.Config{Hooks: hooks}) calls the hooks. This is what they write:
	record := batch.Record{MessageID: "m-1", Attempt: 2, QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"}
	hooks.BatchSettled(context.Background(), batch.BatchInfo{Records: 1, QueueARN: record.QueueARN}, []batch.Result{
		{Record: &record, Outcome: batch.Retry, Err: errors.New("carrier: 503")},
	})
	// Output:
	// level=WARN msg=record logger=sqsbatch queue=orders messageId=m-1 attempt=2 outcome=retry reason="carrier: 503"
	// level=INFO msg=batch logger=sqsbatch queue=orders records=1 retry=1
}
