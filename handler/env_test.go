package handler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

func TestVariables_FillEveryField(t *testing.T) {
	for name, value := range map[string]string{
		"SQSBATCH_CONCURRENCY": "7", "SQSBATCH_RESERVE": "700ms", "SQSBATCH_RECORD_TIMEOUT": "30s",
		"SQSBATCH_MIN_REMAINING": "2s", "SQSBATCH_GRACE": "3s", "SQSBATCH_DEAD_LETTER_QUEUE": "https://sqs/1/dead", "SQSBATCH_MAX_RECEIVE_COUNT": "9",
		"SQSBATCH_ON_PERMANENT": "drop", "SQSBATCH_ERROR_IF_ALL_FAIL": "true", "SQSBATCH_DELETE_SUCCEEDED": "1", "SQSBATCH_LOG_SUCCEEDED": "TRUE", "SQSBATCH_LOG_BODY_BYTES": "8192",
		"SQSBATCH_BACKOFF": "exponential", "SQSBATCH_BACKOFF_BASE": "1s", "SQSBATCH_BACKOFF_CAP": "2s",
	} {
		t.Setenv(name, value)
	}
	var c Config
	if err := c.fromEnvironment(); err != nil {
		t.Fatal(err)
	}
	if first, ninth := c.Failures.Backoff(1), c.Failures.Backoff(9); first != time.Second || ninth < time.Second || ninth > 2*time.Second {
		t.Errorf("backoff %v, %v", first, ninth)
	}
	c.Failures.Backoff = nil
	want := Config{Concurrency: 7, Reserve: 700 * time.Millisecond, RecordTimeout: 30 * time.Second, MinRemaining: 2 * time.Second, Grace: 3 * time.Second,
		Failures: partialfailure.Config{DeadLetterQueue: "https://sqs/1/dead", MaxReceiveCount: 9, OnPermanent: partialfailure.Drop}, ErrorIfAllFail: true, NoReportBatchItemFailures: true, LogSucceeded: true, LogBodyBytes: 8192}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nwant %+v", c, want)
	}
}

func TestOutageAndBackoffVariables_AreRefusedTogether(t *testing.T) {
	handle := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	t.Setenv("SQSBATCH_OUTAGE", "1h")
	var c Config
	if err := c.fromEnvironment(); err != nil || c.Failures.Outage != time.Hour || c.Failures.Backoff != nil {
		t.Errorf("Outage %v, %v", c.Failures.Outage, err)
	}
	for name, value := range map[string]string{"SQSBATCH_BACKOFF": "exponential", "SQSBATCH_BACKOFF_BASE": "9s", "SQSBATCH_BACKOFF_CAP": "9s"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := New(handle, Config{}); err == nil || !strings.Contains(err.Error(), "SQSBATCH_OUTAGE") || !strings.Contains(err.Error(), "SQSBATCH_BACKOFF") {
				t.Errorf("%v, want an error that names both", err)
			}
		})
	}
}

// Whichever of the two fields is set, it decides: `sqsbatch local` sets SQSBATCH_OUTAGE
// for functions whose code has a Backoff as well.
func TestBackoffOrOutageInCode_OverridesVariablesOfBoth(t *testing.T) {
	for _, name := range []string{"SQSBATCH_OUTAGE", "SQSBATCH_BACKOFF_BASE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "10s")
			c := Config{Failures: partialfailure.Config{Backoff: func(int) time.Duration { return time.Minute }}}
			if err := c.fromEnvironment(); err != nil || c.Failures.Outage != 0 || c.Failures.Backoff(1) != time.Minute {
				t.Errorf("Backoff in code: %+v, %v", c, err)
			}
			c = Config{Failures: partialfailure.Config{Outage: time.Hour}}
			if err := c.fromEnvironment(); err != nil || c.Failures.Outage != time.Hour || c.Failures.Backoff != nil {
				t.Errorf("Outage in code: %+v, %v", c, err)
			}
		})
	}
}

func TestWrongVariables_AreAllNamedWithTheirBounds(t *testing.T) {
	wrong := map[string][2]string{
		"SQSBATCH_CONCURRENCY":       {"0", "whole number from 1 to 10000"},
		"SQSBATCH_RESERVE":           {"1", "like \"500ms\""},
		"SQSBATCH_RECORD_TIMEOUT":    {"-5s", "above 0 and up to 11h59m"},
		"SQSBATCH_MIN_REMAINING":     {"13h", "up to 12h"},
		"SQSBATCH_ON_PERMANENT":      {"burn", `["dead-letter" "retry" "drop"]`},
		"SQSBATCH_DEAD_LETTER_QUEUE": {"dead", "URL (https://…) or its ARN"},
		"SQSBATCH_HEALTH_ADDR":       {"8080", "HOST:PORT or :PORT"},
		"SQSBATCH_MAX_RECEIVE_COUNT": {"1001", "1 to 1000"},
		"SQSBATCH_LOG_SUCCEEDED":     {"yes", "true or false"},
		"SQSBATCH_LOG_BODY_BYTES":    {"8193", "0 to 8192"},
		"SQSBATCH_OUTAGE":            {"8h", "whole seconds from 1s to 7h"},
		"SQSBATCH_BACKOFF":           {"none", `["exponential"]`},
	}
	for name, c := range wrong {
		t.Setenv(name, c[0])
	}
	_, err := New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), Config{})
	if err == nil {
		t.Fatal("accepted")
	}
	for name, c := range wrong {
		if !strings.Contains(err.Error(), name+` is "`+c[0]+`": must be`) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s=%s is not explained in:\n%v", name, c[0], err)
		}
	}
}

// A wrong value of any variable is one line, although several packages know its bounds.
func TestWrongVariable_IsReportedOnce(t *testing.T) {
	wrong := map[settings.Kind][]string{
		settings.Flag: {"yes"}, settings.Choice: {"none"}, settings.Number: {"-1", "1.5", "1000000"},
		settings.Duration: {"1", "-5s", "0s", "100h"}, settings.Seconds: {"1", "-5s", "1500ms", "100h"},
		settings.Queue: {"dead", "arn:aws:sns:eu-west-1:1:t"}, settings.Address: {"8080", ":http"},
	}
	for _, s := range settings.All {
		for _, value := range wrong[s.Kind] {
			t.Run(s.Name+"="+value, func(t *testing.T) {
				t.Setenv(s.Name, value)
				_, err := NewPoller(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), Config{Poll: PollConfig{Queues: []string{"arn:aws:sqs:eu-west-1:123456789012:orders"}}})
				if err == nil || !strings.HasPrefix(err.Error(), s.Name) && !strings.HasPrefix(err.Error(), "sqsbatch: "+s.Name) || strings.Contains(err.Error(), "\n") {
					t.Errorf("want one line that begins with the variable:\n%v", err)
				}
			})
		}
	}
}

// What is wrong in code and in the environment is named in one go.
func TestMistakesInCodeAndEnvironment_AreNamedTogether(t *testing.T) {
	t.Setenv("SQSBATCH_CONCURRENCY", "none")
	_, err := New(nil, Config{Reserve: -1, Grace: -1, Failures: partialfailure.Config{OnPermanent: "burn", MaxReceiveCount: 2000, DeadLetterQueue: "dead"}, Hooks: testhooks.Of(wrongHook{"first"}, wrongHook{"second"})})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"SQSBATCH_CONCURRENCY", "handler is nil", "Reserve is", "Grace is", "OnPermanent is", "MaxReceiveCount is",
		"DeadLetterQueue is", "first is wrong", "second is wrong"} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("want %q once in:\n%v", want, err)
		}
	}
}

func TestBaseAboveCapOrNilHandler_IsNamed(t *testing.T) {
	t.Setenv("SQSBATCH_BACKOFF_BASE", "1h")
	t.Setenv("SQSBATCH_BACKOFF_CAP", "1m")
	if _, err := New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), Config{}); err == nil || !strings.Contains(err.Error(), "SQSBATCH_BACKOFF_BASE is 1h0m0s: must not be above") {
		t.Errorf("error %v", err)
	}
	for _, h := range []batch.Handler{nil, batch.HandlerFunc(nil), MessageFunc(nil), batch.JSON[string](nil)} {
		if _, err := New(h, Config{}); err == nil || !strings.Contains(err.Error(), "the handler is nil") {
			t.Errorf("a nil %T is accepted", h)
		}
	}
}

type wrongHook struct{ name string }

func (w wrongHook) Validate() error { return errors.New(w.name + " is wrong") }

// A field of code has the bounds of its variable, and each error names the field, its value and
// the variable, once.
func TestFieldsOutOfBounds_AreNamed(t *testing.T) {
	handle := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	for _, f := range settings.All {
		if !inFields(f) {
			continue
		}
		var values []any
		switch f.Kind {
		case settings.Number:
			values = []any{int(f.Least) - 1, int(f.Most) + 1}
			if values[0] = -1; f == &settings.Prefetch {
				values[0] = -2 // -1 means none
			}
		case settings.Duration:
			values = []any{-time.Second, time.Duration(f.Most) + 1}
		case settings.Seconds:
			values = []any{-time.Second, 1500 * time.Millisecond, time.Duration(f.Most) + time.Second}
		case settings.Choice:
			values = []any{"burn"}
		case settings.Queue:
			values = []any{"dead", "arn:aws:sns:eu-west-1:1:t"}
		case settings.Address:
			values = []any{"8080", "127.0.0.1:http"}
		}
		for _, value := range values {
			c := Config{Poll: PollConfig{Queues: []string{"https://sqs.eu-west-1.amazonaws.com/1/orders"}}}
			field := c.field(f)
			field.Set(reflect.ValueOf(value).Convert(field.Type()))
			_, err := NewPoller(handle, c)
			want := fmt.Sprintf("handler: %s is %v, must be ", f.Field, value)
			if err == nil || strings.Count(err.Error(), want) != 1 || !strings.HasSuffix(err.Error(), "("+f.Name+")") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q once, and %s", err, want, f.Name)
			}
		}
	}
}

// Every setting has a field.
func TestSettingsAreFields(t *testing.T) {
	var c Config
	for _, s := range settings.All {
		if inFields(s) && !c.field(s).CanSet() {
			t.Errorf("%s: there is no field %q", s.Name, s.Field)
		}
	}
}
