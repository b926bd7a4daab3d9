package bulk_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

func nothing(context.Context, []bulk.Item[string]) error { return nil }

func TestAConfigOutOfItsBoundsIsRefusedAtTheStart(t *testing.T) {
	for want, cfg := range map[string]bulk.Config{
		"bulk: MaxItems is -1, must be 1 to 10000":          {MaxItems: -1},
		"bulk: MaxItems is 10001, must be 1 to 10000":       {MaxItems: 10_001},
		"bulk: MaxBytes is -5, must be 1 to 1073741824":     {MaxBytes: -5},
		"bulk: Parallel is 1001, must be 1 to 1000":         {Parallel: 1001},
		"bulk: Linger is -1ns, must be 0 to 1m0s":           {Linger: -1},
		"bulk: Linger is 1m1s, must be 0 to 1m0s":           {Linger: 61 * time.Second},
		"bulk: Unwrap returned nil, must return a handler":  {Unwrap: func(batch.Handler) batch.Handler { return nil }},
		"bulk: Parallel is -1, must be 1 to 1000\nbulk: Li": {Parallel: -1, Linger: -1},
	} {
		h := bulk.JSON(nothing, cfg)
		_, err := handler.New(h, handler.Config{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
		if err := handler.Poll(t.Context(), h, handler.Config{Poll: handler.PollConfig{Queues: []string{"https://sqs.eu-west-1.amazonaws.com/1/q"}}}); err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("Poll: %v, want %q", err, want)
		}
		if err := batch.Chain(h, twice).Handle(t.Context(), batch.Record{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("behind middleware each record fails with %v, want %q", err, want)
		}
	}
}

func TestNoHandlerWithoutAFunction(t *testing.T) {
	if h := bulk.JSON[int](nil, bulk.Config{}); h != nil {
		t.Errorf("JSON(nil) is %v", h)
	}
	if h := bulk.New(nil, nothing, bulk.Config{}); h != nil {
		t.Errorf("New(nil) is %v", h)
	}
	if _, err := handler.New(bulk.JSON[int](nil, bulk.Config{}), handler.Config{}); err == nil || err.Error() != "handler: the handler is nil" {
		t.Errorf("handler.New: %v", err)
	}
}

func TestConcurrencyThatIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		cfg  bulk.Config
		own  int
		want int
	}{
		{bulk.Config{}, 0, 200},
		{bulk.Config{MaxItems: 25, Parallel: 4}, 0, 100},
		{bulk.Config{MaxItems: 10_000, Parallel: 3}, 0, 10_000},
		{bulk.Config{}, 7, 7},
		{bulk.Config{Unwrap: envelope}, 0, 200},
	} {
		if got := (runner.Config{Concurrency: c.own}).WithDefaults(bulk.JSON(nothing, c.cfg)).Concurrency; got != c.want {
			t.Errorf("%+v with Concurrency %d: %d, want %d", c.cfg, c.own, got, c.want)
		}
	}
}

type order struct{ N int }

func TestJSONDecodesAsBatchJSON(t *testing.T) {
	var got []order
	fn := func(_ context.Context, items []bulk.Item[order]) error {
		for _, it := range items {
			got = append(got, it.Value)
		}
		return nil
	}
	for body, c := range map[string]struct {
		cfg  bulk.Config
		want string
	}{
		`{"N":1,"M":2}`:  {bulk.Config{}, ""},
		`{"N":"secret"}`: {bulk.Config{}, `malformed body: field "N": a JSON string does not go into int, at offset 5`},
		`{"N":1,"O":2}`:  {bulk.Config{DisallowUnknownFields: true}, `malformed body: unknown field in bulk_test.order, at offset 7`},
		`{"N":1} x`:      {bulk.Config{}, "malformed body: not valid JSON at offset 8, behind the value"},
	} {
		err := bulk.JSON(fn, c.cfg).Handle(t.Context(), batch.Record{Body: body})
		if err == nil && c.want != "" || err != nil && (err.Error() != c.want || !batch.VerdictOf(err).Permanent) {
			t.Errorf("%s: %v, want %q", body, err, c.want)
		}
	}
	if len(got) != 1 || got[0].N != 1 {
		t.Errorf("got %v", got)
	}
}

// In a test of a user's own, a record is a chunk, and an item is made by hand.
func TestOutsideAnEngine(t *testing.T) {
	h := bulk.New(text, failing(errNo, "x"), bulk.Config{Linger: time.Minute, Unwrap: envelope})
	if err := h.Handle(t.Context(), batch.Record{Body: "x)"}); err != errNo {
		t.Errorf("x: %v", err)
	}
	if err := h.Handle(t.Context(), batch.Record{Body: "y)"}); err != nil {
		t.Errorf("y: %v", err)
	}
	items := []bulk.Item[string]{{Value: "x"}, {Value: "y"}}
	if err := failing(errNo, "x")(t.Context(), items); err != nil || items[0].Err() != errNo || items[1].Err() != nil {
		t.Errorf("%v, %v, %v", err, items[0].Err(), items[1].Err())
	}
}
