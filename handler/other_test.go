package handler_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

type otherFunc func(ctx context.Context, payload []byte) ([]byte, error)

func (f otherFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

var errOther = errors.New("refused")

func TestOther_GetsWhatIsNoSQSEvent(t *testing.T) {
	other := otherFunc(func(_ context.Context, payload []byte) ([]byte, error) {
		if string(payload) == `"fail"` {
			return nil, errOther
		}
		return []byte(`"other"`), nil
	})
	handled := 0
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { handled++; return nil })
	const record = `{"messageId":"m-1","body":"b","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:orders"}`
	for payload, want := range map[string]string{
		`{"Records":[` + record + `]}`:    `{"batchItemFailures":[]}`,
		`{"httpMethod":"GET","path":"/"}`: `"other"`,
		`"warm"`:                          `"other"`,
		`[1]`:                             `"other"`,
		`{"Records":7}`:                   `"other"`,
		`{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"m"}}]}`:      `"other"`,
		`{"Records":[{"eventSource":"aws:s3","s3":{"object":{"key":"k"}}}]}`: `"other"`,
		`"fail"`: `refused`,
		`{"Records":[{"eventSource":"aws:sqs","body":"b"}]}`:                   `messageId`,
		`{"Records":[` + record + `,{"eventSource":"aws:sqs","messageId":7}]}`: `messageId`,
		`{"Records":[` + record: `not valid JSON`,
		``:                      `not valid JSON`,
	} {
		l, err := handler.New(h, handler.Config{Logger: slog.New(slog.DiscardHandler), Other: other})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := l.Invoke(t.Context(), []byte(payload))
		if err != nil {
			answer = []byte(err.Error())
		}
		if !strings.Contains(string(answer), want) || strings.Contains(string(answer), "other") != (want == `"other"`) {
			t.Errorf("%s: %s, want %s", payload, answer, want)
		}
	}
	if handled != 1 {
		t.Errorf("%d records were handled", handled)
	}
	without, err := handler.New(h, handler.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Invoke(t.Context(), []byte(`"warm"`)); err == nil {
		t.Error("without Other, what is no SQS event was answered")
	}
}
