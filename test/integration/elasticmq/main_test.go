package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/cases"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// twin returns a check of two emulators in virtual time, the second of which is
// reached through what change makes of its transport.
func twin(t *testing.T, change func(http.RoundTripper) http.RoundTripper) *check {
	t.Helper()
	endpoints := make([]endpoint, 2)
	for i, name := range []string{"healthy", "changed"} {
		server := sqs.New(sqs.Options{})
		t.Cleanup(func() { _ = server.Close() })
		transport := server.HTTPClient().Transport
		if i == 1 && change != nil {
			transport = change(transport)
		}
		endpoints[i] = newEndpoint(name, server.URL(), transport)
	}
	return newCheck(endpoints[0], endpoints[1], nil, "test", 8)
}

// sequencesTested covers every limit.
var sequencesTested = len(limits)

func TestHealthyServersAnswerAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		err := twin(t, nil).all(t.Context(), options{seed: 1, sequences: cases.Of(60, sequencesTested), parallel: 8}, &out)
		if err != nil {
			t.Errorf("%v\n%s", err, &out)
		}
	})
}

// answers changes the bodies of answers to one operation.
type answers struct {
	http.RoundTripper
	operation string // "": every
	change    func(string) string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.RoundTripper.RoundTrip(r)
	if err != nil || a.operation != "" && r.Header.Get("X-Amz-Target") != "AmazonSQS."+a.operation {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	text := a.change(string(body))
	res.Body, res.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return res, nil
}

// swallow answers an operation without passing it on.
type swallow struct {
	http.RoundTripper
	operation, answer string
}

func (s swallow) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") != "AmazonSQS."+s.operation {
		return s.RoundTripper.RoundTrip(r)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(s.answer)), Request: r}, nil
}

func TestABrokenServerIsFound(t *testing.T) {
	replace := func(operation, old, replacement string) func(http.RoundTripper) http.RoundTripper {
		return func(inner http.RoundTripper) http.RoundTripper {
			return answers{inner, operation, func(text string) string { return strings.ReplaceAll(text, old, replacement) }}
		}
	}
	tests := []struct {
		name    string
		change  func(http.RoundTripper) http.RoundTripper
		want    string // begins the signature of a difference
		longest int    // the shortened sequence has at most so many operations
		from    int    // the sequence to try first, since it shows the difference
	}{
		{"a delete without effect", func(inner http.RoundTripper) http.RoundTripper { return swallow{inner, "DeleteMessage", "{}"} },
			"ReceiveMessage: received", 8, 11},
		{"a visibility that does not change", func(inner http.RoundTripper) http.RoundTripper {
			return swallow{inner, "ChangeMessageVisibility", "{}"}
		}, "ReceiveMessage: received", 8, 41},
		{"a purge without effect", func(inner http.RoundTripper) http.RoundTripper { return swallow{inner, "PurgeQueue", "{}"} }, "ReceiveMessage: received", 8, 51},
		{"a receive count that is not told", replace("ReceiveMessage", "ApproximateReceiveCount", "ReceiveCount"), "ReceiveMessage: ApproximateReceiveCount", 4, 0},
		{"another error type", replace("", "#QueueDoesNotExist", "#QueueNotFound"), "DeleteQueue: error", 1, 266},
		{"wrong digests of attributes", replace("SendMessageBatch", `"MD5OfMessageAttributes":"`, `"MD5OfMessageAttributes":"0`), "SendMessageBatch: MD5OfMessageAttributes", 2, 2},
		{"another delay", replace("GetQueueAttributes", `"DelaySeconds":"0"`, `"DelaySeconds":"00"`), `GetQueueAttributes: attribute DelaySeconds: "0", "00"`, 2, 0},
		{"a queue that is not listed", func(inner http.RoundTripper) http.RoundTripper { return swallow{inner, "ListQueues", "{}"} }, "ListQueues: listing", 2, 0},
		{"batches of which nothing failed", replace("DeleteMessageBatch", `"Failed"`, `"Other"`), "DeleteMessageBatch: error", 3, 67},
		{"a sequence number that is missing", replace("SendMessage", `"SequenceNumber"`, `"Other"`), "SendMessage: SequenceNumber", 2, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := twin(t, test.change)
				found := find(t.Context(), c, cases.Of(test.from, 0), test.want)
				if found == nil {
					t.Fatalf("no sequence shows %q", test.want)
				}
				short := c.shrink(t.Context(), found, found.differences[0].signature())
				if n := len(short.sequence.operations); n > test.longest {
					t.Errorf("shortened to %d operations, want at most %d: %v", n, test.longest, short.sequence.operations)
				}
				// What was printed to repeat it does.
				again, err := c.patiently(t.Context(), generate(short.sequence.seed, short.sequence.index).keep(short.sequence.kept))
				if err != nil || len(again.differences) == 0 {
					t.Errorf("%s: no difference (error %v)", short.sequence.command(), err)
				}
			})
		})
	}
}

// find returns the first sequence that shows the difference, from the given one on
// and then from the beginning.
func find(ctx context.Context, c *check, from int, want string) *outcome {
	for i := range sequencesTested {
		out, err := c.patiently(ctx, generate(3, (from+i)%sequencesTested))
		if err == nil && len(out.differences) > 0 && strings.HasPrefix(out.differences[0].signature(), want) {
			return out
		}
	}
	return nil
}

func TestARunThatFoundADifferenceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twin(t, func(inner http.RoundTripper) http.RoundTripper { return swallow{inner, "ListQueues", "{}"} })
		var out strings.Builder
		err := c.all(t.Context(), options{seed: 1, sequences: 60, parallel: 8, shrink: 1}, &out)
		if err == nil || !strings.Contains(out.String(), "-seed 1 -sequence ") {
			t.Errorf("error %v, want one, and the command that repeats it in:\n%s", err, &out)
		}
	})
}
