package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// onEvent is a mutant that changes the event.
func onEvent(change func(event) event) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		return next(ctx, change(readEvent(payload)).bytes())
	})
}

// afterwards is a mutant that does something before it answers, if records failed.
func afterwards(do func(context.Context, report)) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		response, err := next(ctx, payload)
		if r := readReport(response); len(r.BatchItemFailures) > 0 {
			do(ctx, r)
		}
		return response, err
	})
}

// visibility is a mutant that asks for another number of seconds.
func visibility(change func(seconds int) int) Mutant {
	return ask("ChangeMessageVisibilityBatch", func(call map[string]any) {
		for _, e := range entries(call) {
			e["VisibilityTimeout"] = change(int(e["VisibilityTimeout"].(float64)))
		}
	})
}

// oneByOne invokes the function for each record by itself, side by side or one
// after another: groups are not kept.
func oneByOne(sideBySide bool) Mutant {
	return invoking(func(ctx context.Context, payload []byte, next Invoke, _ http.RoundTripper) ([]byte, error) {
		var mu sync.Mutex
		var all report
		var failed error
		var running sync.WaitGroup
		for _, r := range readEvent(payload).Records {
			running.Go(func() {
				response, err := next(ctx, event{[]map[string]any{r}}.bytes())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = err
				}
				all.BatchItemFailures = append(all.BatchItemFailures, readReport(response).BatchItemFailures...)
			})
			if !sideBySide {
				running.Wait()
			}
		}
		running.Wait()
		if failed != nil {
			return nil, failed
		}
		return json.Marshal(all)
	})
}

// deleteFirst deletes records before it sends them to the dead-letter queue.
func deleteFirst() Mutant {
	type place struct{ url, receipt string }
	var known sync.Map // by body
	m := onEvent(func(e event) event {
		for _, r := range e.Records {
			known.Store(r["body"], place{queueURL(r), r["receiptHandle"].(string)})
		}
		return e
	})
	m.Transport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if isCall(r, "SendMessageBatch") {
				for _, e := range entries(body(r)) {
					if v, ok := known.Load(e["MessageBody"]); ok {
						at := v.(place)
						tell(next, request(r.Context(), "DeleteMessage", map[string]any{"QueueUrl": at.url, "ReceiptHandle": at.receipt}))
					}
				}
			}
			return next.RoundTrip(r)
		})
	}
	return m
}

// heartbeats hides the records again and again while they are handled.
func heartbeats(ctx context.Context, payload []byte, next Invoke, connection http.RoundTripper) ([]byte, error) {
	over := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		beat := time.NewTicker(100 * time.Millisecond)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				tell(connection, hide(ctx, readEvent(payload), 30))
			case <-over:
				return
			}
		}
	})
	defer beating.Wait()
	defer close(over)
	return next(ctx, payload)
}

// entryByEntry makes a visibility call for each entry.
func entryByEntry(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if !isCall(r, "ChangeMessageVisibilityBatch") {
		return next.RoundTrip(r)
	}
	call := body(r)
	var all struct{ Successful, Failed []any }
	var last *http.Response
	for _, e := range entries(call) {
		call["Entries"] = []any{e}
		response, err := next.RoundTrip(with(r, call))
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		b, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		var one struct{ Successful, Failed []any }
		if err := json.Unmarshal(b, &one); err != nil {
			return nil, err
		}
		all.Successful, all.Failed = append(all.Successful, one.Successful...), append(all.Failed, one.Failed...)
		last = response
	}
	b, err := json.Marshal(all)
	last.Body, last.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return last, err
}

// again repeats a call that failed, a hundred times.
func again(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	call := body(r)
	for range 100 {
		response, err := next.RoundTrip(with(r, call))
		if err == nil && response.StatusCode == http.StatusOK || r.Context().Err() != nil {
			return response, err
		}
	}
	return next.RoundTrip(r)
}

// leftBehind never ends.
func leftBehind() { select {} }

// told tells a hook a second time.
type told struct{ *hooks }

func (told) BatchStarted(context.Context, batch.BatchInfo)                 {}
func (told) BatchSettled(context.Context, batch.BatchInfo, []batch.Result) {}

// miscount adds one to every count.
type miscount struct{ slog.Handler }

func (m miscount) WithAttrs([]slog.Attr) slog.Handler { return m }

func (m miscount) Handle(ctx context.Context, r slog.Record) error {
	wrong := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindInt64 {
			a.Value = slog.Int64Value(a.Value.Int64() + 1)
		}
		wrong.AddAttrs(a)
		return true
	})
	return m.Handler.Handle(ctx, wrong)
}

// hideOthers hides all but the first entry of a call for seven seconds more.
func hideOthers() Mutant {
	return ask("ChangeMessageVisibilityBatch", func(call map[string]any) {
		for i, e := range entries(call) {
			if i > 0 {
				e["VisibilityTimeout"] = e["VisibilityTimeout"].(float64) + 7
			}
		}
	})
}

// sendTwice sends everything twice, as other messages.
func sendTwice(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if isCall(r, "SendMessageBatch") {
		call := body(r)
		for _, e := range entries(call) {
			if _, fifo := e["MessageDeduplicationId"]; fifo {
				e["MessageDeduplicationId"] = "another"
			}
		}
		tell(next, with(r, call))
	}
	return next.RoundTrip(r)
}

// forgetOrigin removes the attribute that says where a dead letter came from.
func forgetOrigin(call map[string]any) {
	for _, e := range entries(call) {
		if attributes, ok := e["MessageAttributes"].(map[string]any); ok {
			delete(attributes, partialfailure.OriginAttribute)
		}
	}
}

// swapOrigin has it name another message.
func swapOrigin(call map[string]any) {
	for _, e := range entries(call) {
		if attributes, ok := e["MessageAttributes"].(map[string]any); ok && attributes[partialfailure.OriginAttribute] != nil {
			attributes[partialfailure.OriginAttribute] = map[string]any{"DataType": "String", "StringValue": `{"v":1,"messageId":"another"}`}
		}
	}
}
