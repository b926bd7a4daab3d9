package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// BenchmarkInvoke measures a whole invocation by a handler that looks at the
// body's length, from payload bytes to response bytes: sqsbatch against
// aws-lambda-go's own decoding and encoding around the same work by hand, and
// the least that can be done.
// Bodies are JSON, as they are in practice, so their quotes are escaped.
func BenchmarkInvoke(b *testing.B) {
	for _, c := range []struct{ records, body int }{{10, 300}, {5000, 505}} {
		payload := benchEvent(b, c.records, c.body)
		name := fmt.Sprintf("records=%d", c.records)
		b.Run(name+"/impl=sqsbatch", func(b *testing.B) {
			l, err := handler.New(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
				return look(r.Body)
			}), handler.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			benchInvoke(b, l, payload, c.records)
		})
		b.Run(name+"/impl=hand", func(b *testing.B) {
			benchInvoke(b, lambda.NewHandler(byHand), payload, c.records)
		})
		b.Run(name+"/impl=floor", func(b *testing.B) {
			benchInvoke(b, floor{}, payload, c.records)
		})
	}
}

// byHand is what one writes with aws-lambda-go and errgroup.
func byHand(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(10)
	for _, m := range event.Records {
		g.Go(func() error {
			_, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			if err := look(m.Body); err != nil {
				mu.Lock()
				defer mu.Unlock()
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
			return nil
		})
	}
	_ = g.Wait()
	return response, nil
}

// floor does only what no implementation can leave out: it copies the payload, whose memory aws-lambda-go
// uses again, goes from quote to quote, and passes what is between them to the handler. Its answer is
// wrong as soon as a body has an escape.
type floor struct{}

func (floor) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	rest := bytes.Clone(payload)
	for {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return []byte(`{"batchItemFailures":[]}`), nil
		}
		rest = rest[begin+1:]
		end := bytes.IndexByte(rest, '"')
		if bytes.HasPrefix(rest, []byte("body")) {
			_ = look(string(rest[:end]))
		}
		rest = rest[end+1:]
	}
}

func look(body string) error {
	if len(body) == 0 {
		return fmt.Errorf("empty")
	}
	return nil
}

// benchInvoke also reports the time of the quickest tenth of the latest invocations: on a busy machine the
// mean is mostly what other processes take.
func benchInvoke(b *testing.B, h lambda.Handler, payload []byte, records int) {
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	var latest [1024]time.Duration
	n := 0
	for ; b.Loop(); n++ {
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if _, err := h.Invoke(ctx, payload); err != nil {
			b.Fatal(err)
		}
		cancel()
		latest[n%len(latest)] = time.Since(began)
	}
	quick := latest[:min(n, len(latest))]
	slices.Sort(quick)
	b.ReportMetric(float64(quick[len(quick)/10].Nanoseconds()), "p10-ns/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
}

func benchEvent(tb testing.TB, records, body int) []byte {
	type attributes map[string]string
	type message struct {
		MessageId         string         `json:"messageId"`
		ReceiptHandle     string         `json:"receiptHandle"`
		Body              string         `json:"body"`
		Attributes        attributes     `json:"attributes"`
		MessageAttributes map[string]any `json:"messageAttributes"`
		Md5OfBody         string         `json:"md5OfBody"`
		EventSource       string         `json:"eventSource"`
		EventSourceARN    string         `json:"eventSourceARN"`
		AWSRegion         string         `json:"awsRegion"`
	}
	event := struct{ Records []message }{}
	for i := range records {
		order := fmt.Sprintf(`{"id":"o-%d","sku":"ok","quantity":%d,"note":"%s"}`, i, i+1, strings.Repeat("lorem ", body/6))
		event.Records = append(event.Records, message{
			MessageId:     fmt.Sprintf("%08x-e1d9-4f7c-bd6f-2f1a6b5b9f01", i),
			ReceiptHandle: "AQEB" + strings.Repeat("wJnKyrHigUMZj6rYigCgxlaS3SLy0a", 6),
			Body:          order,
			Attributes: attributes{
				"ApproximateReceiveCount":          "1",
				"SentTimestamp":                    "1762344000000",
				"SenderId":                         "AIDAIENQZJOLO23YVJ4VO",
				"ApproximateFirstReceiveTimestamp": "1762344000012",
			},
			MessageAttributes: map[string]any{},
			Md5OfBody:         "e4e68fb7bd0e697a0ae8f1bb342846b3",
			EventSource:       "aws:sqs",
			EventSourceARN:    "arn:aws:sqs:eu-west-1:123456789012:orders",
			AWSRegion:         "eu-west-1",
		})
	}
	payload, err := json.Marshal(event)
	if err != nil {
		tb.Fatal(err)
	}
	return payload
}
