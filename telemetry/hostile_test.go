package telemetry_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testhooks"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// hostile is a user's error with a method that panics, blocks or gives a false answer.
type hostile struct{ is, as, text, unwrap, retryable func() bool }

func (e *hostile) Is(error) bool   { return e.is != nil && e.is() }
func (e *hostile) As(any) bool     { return e.as != nil && e.as() }
func (e *hostile) Retryable() bool { return e.retryable == nil || e.retryable() }

func (e *hostile) Error() string {
	if e.text != nil {
		e.text()
	}
	return "hostile"
}

func (e *hostile) Unwrap() error {
	if e.unwrap != nil {
		e.unwrap()
	}
	return nil
}

func panics() bool { var none *hostile; return none.is() }
func lies() bool   { return true }

// later is a method that panics from a moment after its record's handler has returned.
func later() func() bool {
	var first sync.Once
	var began time.Time
	return func() bool {
		if first.Do(func() { began = time.Now() }); time.Now().After(began) {
			panics()
		}
		return false
	}
}

type outcomes struct {
	mu       sync.Mutex
	settled  map[string]batch.Outcome // by body, of the latest delivery
	finished map[string]int
	warnings []string
}

func (o *outcomes) BatchSettled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range results {
		o.settled[r.Record.Body] = r.Outcome
	}
}

func (o *outcomes) RecordFinished(_ context.Context, r batch.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished[r.Record.Body]++
}

func (o *outcomes) Warned(_ context.Context, w batch.Warning) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.warnings = append(o.warnings, w.Message)
}

// The process, the other records and the hooks bear whatever the methods of one record's
// error do.
func TestHostileError_FailsItsRecordOnly(t *testing.T) {
	var release chan struct{} // the methods that block
	blocks := func() bool { <-release; return false }
	for name, makeError := range map[string]func() *hostile{
		"Is panics":          func() *hostile { return &hostile{is: panics} },
		"Is lies":            func() *hostile { return &hostile{is: lies} },
		"Is blocks":          func() *hostile { return &hostile{is: blocks} },
		"As panics":          func() *hostile { return &hostile{as: panics} },
		"As lies":            func() *hostile { return &hostile{as: lies} },
		"As blocks":          func() *hostile { return &hostile{as: blocks} },
		"Error panics":       func() *hostile { return &hostile{text: panics} },
		"Error blocks":       func() *hostile { return &hostile{text: blocks} },
		"Unwrap panics":      func() *hostile { return &hostile{unwrap: panics} },
		"Unwrap blocks":      func() *hostile { return &hostile{unwrap: blocks} },
		"Retryable panics":   func() *hostile { return &hostile{retryable: panics} },
		"Retryable blocks":   func() *hostile { return &hostile{retryable: blocks} },
		"all panic later":    func() *hostile { return &hostile{later(), later(), nil, later(), later()} },
		"Error panics later": func() *hostile { return &hostile{text: later()} },
	} {
		for _, mode := range []string{"Lambda", "container"} {
			for _, way := range []string{"returned", "panicked with"} {
				t.Run(name+"/"+mode+"/"+way, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						release = make(chan struct{})
						q := testqueue.New(t, testqueue.FIFO)
						q.SendTo("a", "slow")
						q.SendTo("b", "quick")
						q.SendTo("c", "hostile", "behind it")
						seen := &outcomes{settled: map[string]batch.Outcome{}, finished: map[string]int{}}
						if h, cfg := handle(makeError(), way), hooked(seen); mode == "Lambda" {
							q.Map(time.Minute, q.Lambda(h, cfg).Invoke)
						} else {
							q.Poll(context.Background(), time.Minute, h, cfg)
						}
						close(release)
						asked := way == "returned" || !strings.HasPrefix(name, "Retryable") // of a panic's value it is not
						seen.check(t, strings.Contains(name, "blocks") && asked)
					})
				})
			}
		}
	}
}

func handle(err error, way string) batch.HandlerFunc {
	return func(_ context.Context, r batch.Record) error {
		switch {
		case r.Body == "slow":
			time.Sleep(20 * time.Second) // several heartbeats
		case r.Body == "hostile" && way == "returned":
			return err
		case r.Body == "hostile":
			panic(err)
		}
		return nil
	}
}

func hooked(seen *outcomes) handler.Config {
	return handler.Config{
		RecordTimeout: 25 * time.Second, Failures: partialfailure.Config{OnPermanent: "retry"},
		Poll:   handler.PollConfig{Visibility: 9 * time.Second},
		Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
		Hooks: testhooks.Of(
			emf.New(emf.Config{Writer: io.Discard}), prometheus.New(prometheus.Config{}),
			otel.New(otel.Config{
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(dropped{})),
				MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
			}),
			seen,
		),
	}
}

func (o *outcomes) check(t *testing.T, blocked bool) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	want := batch.Retry
	if blocked {
		want = batch.Abandoned
	}
	for body, want := range map[string]batch.Outcome{"slow": batch.Succeeded, "quick": batch.Succeeded, "hostile": want} {
		if got := o.settled[body]; got != want || o.finished[body] == 0 {
			t.Errorf("%s is %v (%d times finished), want %v", body, got, o.finished[body], want)
		}
	}
	if o.finished["slow"] > 1 || o.finished["quick"] > 1 {
		t.Errorf("finished %v, want the good records once", o.finished)
	}
	for _, w := range o.warnings {
		if strings.Contains(w, "hook") {
			t.Errorf("a hook suffers: %s", w)
		}
	}
}
