package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestMain(m *testing.M) {
	if os.Getenv("SQSBATCH_TEST_RUN") != "" { // this binary stands in for a user's program
		handler.Run(batch.HandlerFunc(byBody))
	}
	goleak.VerifyTestMain(m)
}

// logbook is a logger's output.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// lines returns the log's lines with a message, or with any for "".
func (l *logbook) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	var list []map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(l.String())))
	for d.More() {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if message == "" || line["msg"] == message {
			list = append(list, line)
		}
	}
	return list
}

func newHandler(t testing.TB, h batch.Handler, cfg handler.Config) *handler.LambdaHandler {
	t.Helper()
	l, err := handler.New(h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// payload is an event with a record for each body, with its id from m-0 on.
func payload(arn string, bodies ...string) []byte {
	records := make([]batch.Record, len(bodies))
	for i, body := range bodies {
		records[i] = batch.Record{
			MessageID: fmt.Sprintf("m-%d", i), ReceiptHandle: fmt.Sprintf("handle-%d", i), Body: body,
			Attempt: 1, QueueARN: arn, Region: "eu-west-1",
		}
	}
	return testqueue.Event(records)
}

const ordersARN = "arn:aws:sqs:eu-west-1:123456789012:orders"

var (
	met    atomic.Int32
	allMet = make(chan struct{})
)

func byBody(ctx context.Context, r batch.Record) error {
	switch r.Body {
	case "fail":
		return errors.New("no")
	case "never":
		return batch.Permanent(errors.New("no such thing"))
	case "panic":
		panic("oops")
	case "hang":
		time.Sleep(time.Hour)
	case "meet": // waits until it was called so often
		if met.Add(1) == atATime {
			close(allMet)
		}
		<-allMet
	}
	return nil
}
