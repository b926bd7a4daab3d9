package handler_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestSAMLocalMakesNoCallAndTellsWhatItWouldSet(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_ENDPOINT_URL_SQS", "")
	t.Setenv("SQSBATCH_DEAD_LETTER_QUEUE", "OrdersDeadLetterQueue")
	var log logbook
	l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger(), Failures: partialfailure.Config{Backoff: func(int) time.Duration { return 2 * time.Second }}})
	got, err := l.Invoke(t.Context(), payload(ordersARN, "fail", "never", "ok"))
	// The permanent failure did not really go to a dead-letter queue: it is reported.
	if err != nil || string(got) != `{"batchItemFailures":[{"itemIdentifier":"m-0"},{"itemIdentifier":"m-1"}]}` {
		t.Errorf("%s, %v", got, err)
	}
	if !strings.Contains(log.String(), "SQS is not called. In production: m-0 visible in 2s, m-1 sent to OrdersDeadLetterQueue") {
		t.Errorf("log: %s", log.String())
	}
}

func TestSAMLocalMakesNoCallForLaterAttemptsOrDeletes(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_ENDPOINT_URL_SQS", "")
	t.Setenv("SQSBATCH_DEAD_LETTER_QUEUE", "OrdersDeadLetterQueue")
	t.Setenv("SQSBATCH_DELETE_SUCCEEDED", "true")
	synctest.Test(t, func(t *testing.T) { // no call can leave the bubble: it would hang
		var log logbook
		l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger(), Failures: partialfailure.Config{Backoff: func(int) time.Duration { return 2 * time.Second }}})
		event := strings.ReplaceAll(string(payload(ordersARN, "fail", "ok")), `"ApproximateReceiveCount":"1"`, `"ApproximateReceiveCount":"3"`)
		begin := time.Now()
		_, err := l.Invoke(t.Context(), []byte(event))
		var failed *handler.FailedError
		if !errors.As(err, &failed) || failed.Failed != 1 || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		for _, word := range []string{"GetQueueAttributes", "DeleteMessage", "ChangeMessageVisibility", "cannot be called", "credentials"} {
			if strings.Contains(log.String(), word) {
				t.Errorf("the log has %s: %s", word, log.String())
			}
		}
	})
}

func TestWithoutCredentialsOrRegionTheAnswerIsTheSame(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SAM_LOCAL", "AWS_PROFILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	synctest.Test(t, func(t *testing.T) { // no call can leave the bubble: it would hang
		var log logbook
		l := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Logger: log.logger(), Failures: partialfailure.Config{Backoff: func(int) time.Duration { return 2 * time.Second }}})
		begin := time.Now()
		got, err := l.Invoke(t.Context(), payload(ordersARN, "fail", "never", "ok"))
		if err != nil || string(got) != `{"batchItemFailures":[{"itemIdentifier":"m-0"},{"itemIdentifier":"m-1"}]}` {
			t.Errorf("%s, %v", got, err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %v", took)
		}
		if n := strings.Count(log.String(), "no AWS credentials"); n != 1 {
			t.Errorf("said %d times: %s", n, log.String())
		}
	})
}

func TestRunOutsideOfLambdaSaysWhatItNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		env  string
		want []string
	}{
		"not on Lambda": {"X=", []string{"AWS_LAMBDA_RUNTIME_API is not set", "sqsbatch local --event FILE .", "go install ./cmd/sqsbatch in a clone", "sam local invoke"}},
		"configuration": {"SQSBATCH_CONCURRENCY=many", []string{`SQSBATCH_CONCURRENCY is "many": must be a whole number from 1 to 10000`}},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "SQSBATCH_TEST_RUN=1", "AWS_LAMBDA_RUNTIME_API=", c.env)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: %v", name, err)
		}
		for _, w := range c.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: no %q in %s", name, w, out)
			}
		}
	}
}
