package handler_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// start begins in both modes, and returns what was logged before the first
// record, and at the end of it.
func start(t *testing.T) (onLambda, polling []string) {
	t.Helper()
	messages := func(b *logbook) (list []string) {
		for _, line := range b.lines(t, "") { // of any message
			if line["level"] == "WARN" && line["logger"] == "sqsbatch" {
				list = append(list, line["msg"].(string))
			}
		}
		return list
	}
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	var book logbook
	if _, err := handler.New(h, handler.Config{Logger: book.logger()}); err != nil {
		t.Fatal(err)
	}
	onLambda = messages(&book)
	synctest.Test(t, func(t *testing.T) {
		_, client := queues(t, "a")
		var book logbook
		cfg := handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{Queues: []string{"a"}}}
		if err := polled(t, h, cfg, func() { time.Sleep(time.Minute) }); err != nil {
			t.Error(err)
		}
		polling = messages(&book)
	})
	return onLambda, polling
}

func TestUnknownVariables_AreWarnedOfOnce(t *testing.T) {
	t.Setenv("SQSBATCH_CONCURENCY", "5")
	t.Setenv("SQSBATCH_VISIBILITY_TIMEOUT", "30s")
	t.Setenv("SQSBATCH_HEALTH_PORT", "8080")
	t.Setenv("SQSBATCH_XYZ", "")
	t.Setenv("SQSBATCH_EMULATOR_SERVICE_HOST", "10.0.0.1") // Kubernetes's, of a service
	t.Setenv("SQSBATCH_EMULATOR_SERVICE_PORT", "9324")
	t.Setenv("SQSBATCH_EMULATOR_PORT_9324_TCP_ADDR", "10.0.0.1")
	t.Setenv("SQSBATCH_EMULATOR_PORT", "tcp://10.0.0.1:9324")
	t.Setenv("SQSBATCH_WAIT", "10s")
	t.Setenv("OTHER_SQSBATCH_WAITS", "10s")
	want := []string{"SQSBATCH_CONCURENCY is not a variable of sqsbatch and has no effect: is SQSBATCH_CONCURRENCY meant?; " +
		"SQSBATCH_HEALTH_PORT is not a variable of sqsbatch and has no effect: is SQSBATCH_HEALTH_ADDR meant?; " +
		"SQSBATCH_VISIBILITY_TIMEOUT is not a variable of sqsbatch and has no effect: is SQSBATCH_VISIBILITY meant?; " +
		"SQSBATCH_XYZ is not a variable of sqsbatch and has no effect"}
	onLambda, polling := start(t)
	for mode, got := range map[string][]string{"on Lambda": onLambda, "polling": polling} {
		if !slices.Equal(got, want) {
			t.Errorf("%s: warned %q, want %q", mode, got, want)
		}
	}
}

func TestKnownVariables_AreNotWarnedOf(t *testing.T) {
	t.Setenv("SQSBATCH_CONCURRENCY", "5")
	t.Setenv("SQSBATCH_WAIT", "")
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "loud") // another logger's: of no interest
	onLambda, polling := start(t)
	if len(onLambda)+len(polling) > 0 {
		t.Errorf("warned %q on Lambda and %q polling", onLambda, polling)
	}
}

// A health check that runs a command in the container knows the variable only.
func TestTwoHealthAddressesAreTold(t *testing.T) {
	for _, c := range []struct {
		inCode, inEnvironment string
		told                  int
	}{
		{"127.0.0.1:0", "127.0.0.1:8080", 1}, {"127.0.0.1:0", ":0", 0}, {"127.0.0.1:0", "", 0}, {"", "127.0.0.1:0", 0},
	} {
		t.Setenv("SQSBATCH_HEALTH_ADDR", c.inEnvironment)
		_, client := queues(t, "a")
		var book logbook
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := handler.Poll(ctx, batch.HandlerFunc(byBody), handler.Config{SQS: client, Logger: book.logger(),
			Poll: handler.PollConfig{Queues: []string{"a"}, HealthAddr: c.inCode}})
		if told := strings.Count(book.String(), "must be given the former as argument"); err != nil || told != c.told {
			t.Errorf("%q in code, %q in the environment: told %d times, want %d; error %v", c.inCode, c.inEnvironment, told, c.told, err)
		}
	}
}
