package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
)

// verdict is what an error means for its message, in words.
func verdict(err error) string {
	switch v := batch.VerdictOf(err); {
	case err == nil:
		return "done"
	case v.Permanent:
		return "permanent"
	case v.HasAfter:
		return "retry after " + v.After.String()
	default:
		return "retry"
	}
}

// Every order gets the verdict that its sku asks for, in the time it asks for.
// Each has a record deadline of 10 s.
func TestShip(t *testing.T) {
	tests := []struct {
		name    string
		body    string
		attempt int
		want    string
		says    string // part of the error's text
		takes   time.Duration
	}{
		{name: "ok", body: `{"id":"o-1","sku":"ok","quantity":1}`, want: "done"},
		{name: "unknown", body: `{"id":"o-1","sku":"unknown","quantity":1}`, want: "permanent", says: "order o-1: unknown sku"},
		{name: "busy", body: `{"id":"o-1","sku":"busy:90s","quantity":1}`, want: "retry after 1m30s", says: "order o-1: warehouse is busy for 1m30s"},
		{name: "down", body: `{"id":"o-1","sku":"down","quantity":1}`, want: "retry", says: "order o-1: warehouse is down"},
		{name: "slow", body: `{"id":"o-1","sku":"slow:9s","quantity":1}`, want: "done", takes: 9 * time.Second},
		{name: "slow past its deadline", body: `{"id":"o-1","sku":"slow:1h","quantity":1}`, want: "retry", says: "deadline exceeded", takes: 10 * time.Second},
		{name: "hang past its deadline", body: `{"id":"o-1","sku":"hang:30s","quantity":1}`, want: "done", takes: 30 * time.Second},
		{name: "flaky before its attempt", body: `{"id":"o-1","sku":"flaky:3","quantity":1}`, attempt: 2, want: "retry", says: "attempt 2 of 3"},
		{name: "flaky at its attempt", body: `{"id":"o-1","sku":"flaky:3","quantity":1}`, attempt: 3, want: "done"},

		{name: "no id", body: `{"sku":"ok","quantity":1}`, want: "permanent", says: "no id"},
		{name: "quantity 0", body: `{"id":"o-1","sku":"ok","quantity":0}`, want: "permanent", says: "quantity is 0, must be at least 1"},
		{name: "null", body: `null`, want: "permanent", says: "malformed body: the JSON value is null"},
		{name: "not JSON", body: `order 1, please`, want: "permanent", says: "malformed body"},

		{name: "no sku", body: `{"id":"o-1","quantity":1}`, want: "permanent", says: `unknown sku ""`},
		{name: "no such sku", body: `{"id":"o-1","sku":"gone","quantity":1}`, want: "permanent", says: `unknown sku "gone"`},
		{name: "busy without a duration", body: `{"id":"o-1","sku":"busy","quantity":1}`, want: "permanent", says: `"busy": want a duration from 0 up, as in busy:2s`},
		{name: "flaky without a number", body: `{"id":"o-1","sku":"flaky:often","quantity":1}`, want: "permanent", says: "as in flaky:2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := batch.Record{MessageID: "m-1", Body: tt.body, Attempt: max(tt.attempt, 1)}
				ctx, cancel := context.WithTimeout(batch.WithRecord(t.Context(), r), 10*time.Second)
				defer cancel()
				start := time.Now()
				err := batch.JSON(shipFrom(memoryWarehouse{})).Handle(ctx, r)
				if took := time.Since(start); verdict(err) != tt.want || !strings.Contains(fmt.Sprint(err), tt.says) || took != tt.takes {
					t.Errorf("%q after %v: %v, want %q after %v, and it to say %q", verdict(err), took, err, tt.want, tt.takes, tt.says)
				}
			})
		})
	}
}

func TestShipPanics(t *testing.T) {
	defer func() {
		if got := recover(); got != "warehouse: a shelf fell over" {
			t.Errorf("recovered %v, want the warehouse's panic", got)
		}
	}()
	err := shipFrom(memoryWarehouse{})(t.Context(), Order{ID: "o-1", SKU: "panic", Quantity: 1})
	t.Errorf("returned %v, want a panic", err)
}

// Without a record there is no attempt to compare with: the order has not shipped.
func TestFlakyNeedsItsRecord(t *testing.T) {
	err := shipFrom(memoryWarehouse{})(t.Context(), Order{ID: "o-1", SKU: "flaky:1", Quantity: 1})
	if verdict(err) != "retry" {
		t.Errorf("got %v, want an ordinary failure", err)
	}
}

// refusing is a warehouse that knows one answer.
type refusing struct{ err error }

func (w refusing) Ship(context.Context, Order) error { return w.err }

// The business logic works with any Warehouse, however it wraps its errors.
func TestShipFromAnotherWarehouse(t *testing.T) {
	for answer, want := range map[error]string{
		fmt.Errorf("catalogue: %w", ErrUnknownSKU):           "permanent",
		fmt.Errorf("dock: %w", &BusyError{For: time.Minute}): "retry after 1m0s",
		errors.New("no route to host"):                       "retry",
		nil:                                                  "done",
	} {
		err := shipFrom(refusing{answer})(t.Context(), Order{ID: "o-1", SKU: "ok", Quantity: 1})
		if verdict(err) != want || !errors.Is(err, answer) {
			t.Errorf("verdict of %v is %q, want %q", err, verdict(err), want)
		}
	}
}

// timeout is template.yaml's, one for which events/README.md promises answers.
const timeout = 10 * time.Second

// onEach runs the deployed function on each payload as Lambda would, but with no queue
// behind it: AWS_SAM_LOCAL says that the receipt handles are samples.
func onEach(t *testing.T, pattern string, check func(t *testing.T, name string, answer []byte, err error)) {
	t.Helper()
	t.Setenv("AWS_SAM_LOCAL", "true")
	names, err := fs.Glob(events.FS, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no event matches %s (%v)", pattern, err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := handler.New(batch.JSON(shipFrom(memoryWarehouse{})), handler.Config{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				start := time.Now()
				answer, err := h.Invoke(ctx, read(t, name))
				if took := time.Since(start); took >= timeout {
					t.Errorf("answered after %v, when Lambda has ended the function", took)
				}
				check(t, name, answer, err)
				time.Sleep(time.Minute) // what was abandoned ends in this bubble
			})
		})
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := events.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every event gets the answer that is documented for it, before the timeout.
func TestEventsGetTheirAnswers(t *testing.T) {
	onEach(t, "*.json", func(t *testing.T, name string, answer []byte, err error) {
		if err != nil {
			t.Fatalf("invocation failed: %v", err)
		}
		if want := read(t, path.Join("answers", name)); !reflect.DeepEqual(parsed(t, answer), parsed(t, want)) {
			t.Errorf("answer is\n%s\nwant\n%s", answer, want)
		}
	})
}

// A payload that cannot be answered safely fails the invocation and says why.
func TestRefusedEventsFail(t *testing.T) {
	onEach(t, "refused/*.json", func(t *testing.T, _ string, answer []byte, err error) {
		if err == nil || err.Error() == "" {
			t.Errorf("answered %s with the error %v, want one that says something", answer, err)
		}
	})
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return v
}
