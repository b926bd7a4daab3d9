package local_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// A function without sqsbatch works, too: the outcomes are the event source mapping's.
func TestForeignFunction(t *testing.T) {
	t.Parallel()
	lines := done(t, "fine\nfail\n\nalso fine\n", "testdata/foreign", "--function", "Foreign", "--once", "--timeout", "1m", "-")
	checkFates(t, lines, map[string][]string{
		"fine": {"1 succeeded"}, "also fine": {"1 succeeded"},
		"fail": {"1 retry", "2 retry", "2 dead-letter"},
	})
	for _, l := range lines {
		if l.Outcome == "retry" && (l.Reason != "the function named it in batchItemFailures" || l.VisibleInMs == nil || *l.VisibleInMs > 1000) {
			t.Errorf("%+v", l)
		}
	}
}

// An event's receive counts are reproduced, so that a last attempt is the last here, too.
func TestLateEvent(t *testing.T) {
	t.Parallel()
	const record = `{"messageId":"m%d","body":%q,"attributes":{"ApproximateReceiveCount":"%d"}}`
	text := fmt.Sprintf(`{"Records":[`+record+`,`+record+`,`+record+`]}`, 1, "a", 1, 2, "b", 2, 3, "fail", 2)
	lines := done(t, "", "testdata/foreign", "--function", "Foreign", "--once", "--timeout", "1m", "--event", golden.File(t, "event.json", text))
	checkFates(t, lines, map[string][]string{"a": {"1 succeeded"}, "b": {"2 succeeded"}, "fail": {"2 retry", "2 dead-letter"}})
	if n := summary(t, lines).Invocations; n != 1 {
		t.Errorf("%d invocations; the event's records fit in one batch", n)
	}
}

// An error of the function is shown, and --timeout ends the run.
func TestTimeout(t *testing.T) {
	lines, err := run(t, "error\n", "testdata/foreign", "--function", "Foreign", "--template", "testdata/endless.yaml", "--once", "--timeout", "1500ms", "-")
	if err == nil || !strings.Contains(err.Error(), "not everything was done after 1.5s") {
		t.Fatalf("error %v", err)
	}
	if s := summary(t, lines); s.Remaining != 1 || s.Retried < 1 {
		t.Errorf("summary: %+v", s)
	}
	for _, l := range lines {
		if l.Type == "invocation" && (!strings.Contains(l.Error, "nothing works") || l.Back != 1) {
			t.Errorf("%+v", l)
		}
	}
}

// Messages that SQS refuses are shown, and the run fails.
func TestRefusedMessage(t *testing.T) {
	t.Parallel()
	input := "fine\n\x01\nnot \xff UTF-8\n" + strings.Repeat("x", 2<<20) + "\n"
	lines, err := run(t, input, "testdata/foreign", "--function", "Foreign", "--once", "--timeout", "1m", "-")
	if err == nil || !strings.Contains(err.Error(), "3 of the messages could not be sent") {
		t.Errorf("error %v", err)
	}
	checkFates(t, lines, map[string][]string{"fine": {"1 succeeded"}})
}

// Messages that Lambda deletes although they failed are shown, and the run fails.
func TestLostMessage(t *testing.T) {
	t.Parallel()
	orders := `{"id":"o-1","sku":"ok","quantity":1}` + "\n" + `{"id":"o-2","sku":"down","quantity":1}` + "\n"
	lines, err := run(t, orders, filepath.Join(root, "examples", "orders"), "--function", "Foreign", "--template", "testdata/noreport.yaml", "--once", "--timeout", "1m", "-")
	if err == nil || !strings.Contains(err.Error(), "ReportBatchItemFailures") {
		t.Errorf("error %v", err)
	}
	if s := summary(t, lines); s.Lost != 1 || s.Succeeded != 1 {
		t.Errorf("summary: %+v", s)
	}
}

// TestInterrupt: after Ctrl-C the run succeeds, with a summary. With --once it fails.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		args := []string{"testdata/foreign", "--function", "Foreign", "--template", "testdata/endless.yaml", "--timeout", "1m", "-"}
		if once {
			args = append(args, "--once")
		}
		text, err := interrupted("fail\n", "retry", 1, args...)
		if (err != nil) != once {
			t.Errorf("once %v: error %v", once, err)
		}
		golden.Says(t, "the output", text, "endpoint ", "http://127.0.0.1:", "│ got fail", "1 message sent: 0 succeeded, 1 still in the queue")
	}
}

// The SQS endpoint accepts loopback names and allowed names.
func TestHosts(t *testing.T) {
	var s script
	s.steps = map[string]func(string){"endpoint ": func(output string) {
		defer s.interrupt("")
		transport := &http.Transport{DisableKeepAlives: true}
		for host, want := range map[string]int{"": 200, "host.docker.internal": 200, "evil.example": 403} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, endpoint.FindString(output)+"/?Action=ListQueues", http.NoBody)
			r.Host = host
			answer, err := transport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("Host %q: %d, want %d", host, answer.StatusCode, want)
			}
		}
	}}
	if _, err := s.run("", "testdata/foreign", "--function", "Foreign", "--no-samples", "--allow-host", "host.docker.internal", "--timeout", "1m"); err != nil {
		t.Fatal(err)
	}
}

// A dead letter that a move task brings back is in the queue again.
func TestMovedBack(t *testing.T) {
	t.Parallel()
	var s script
	s.steps = map[string]func(string){
		"sqs  dead-letter ": func(output string) {
			client, _ := clientOf(output)
			_, err := client.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:Dead")})
			if err != nil {
				t.Error(err)
				s.interrupt("")
			}
		},
		"by a message move task": s.interrupt,
	}
	text, err := s.run("fail\n", "testdata/foreign", "--function", "Foreign", "--timeout", "1m", "-")
	golden.OK(t, err)
	golden.Says(t, "the output", text, "from Dead to Work by a message move task", "1 message sent: 0 succeeded, 1 still in the queue")
}
