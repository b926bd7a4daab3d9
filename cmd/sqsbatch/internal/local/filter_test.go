package local_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

var filtering = []string{"testdata/foreign", "--template", "testdata/filter.yaml", "--once", "--timeout", "1m", "-"}

const filterable = `{"status":"paid"}` + "\n" + `{"status":"open"}` + "\npaid 7\nopen 8\n"

// TestFilterCriteria: what matches no filter of the event is deleted, the
// function never sees it, and it is neither a success nor a loss.
func TestFilterCriteria(t *testing.T) {
	t.Parallel()
	lines, err := run(t, filterable, filtering...)
	if err != nil {
		t.Fatal(err)
	}
	checkFates(t, lines, map[string][]string{
		`{"status":"paid"}`: {"1 succeeded"}, "paid 7": {"1 succeeded"},
		`{"status":"open"}`: {"1 filtered"}, "open 8": {"1 filtered"},
	})
	invoked := 0
	for _, l := range lines {
		if l.Outcome == "filtered" && (!strings.Contains(l.Reason, "matches no filter") || l.VisibleInMs != nil) {
			t.Errorf("%+v", l)
		}
		invoked += l.Records
	}
	if invoked != 2 {
		t.Errorf("%d records reached the function", invoked)
	}
	if s := summary(t, lines); s.Sent != 4 || s.Succeeded != 2 || s.Filtered != 2 || s.Lost+s.Removed+s.Remaining != 0 {
		t.Errorf("summary: %+v", s)
	}
}

// The filters are shown, and what became of the messages.
func TestFilterCriteriaForPeople(t *testing.T) {
	t.Parallel()
	var out, side bytes.Buffer
	if err := runLocal(t.Context(), filtering, cli.IO{Stdin: strings.NewReader(filterable), Stdout: &out, Stderr: &side}); err != nil {
		t.Fatal(err)
	}
	golden.Says(t, "the output", out.String(),
		`filter       {"body": {"status": ["paid"]}}`,
		"open 8            it matches no filter of the event: deleted, the function never sees it",
		"4 messages sent: 2 succeeded, 2 filtered out ",
	)
	for _, w := range []string{"got open", "warning"} {
		if strings.Contains(out.String(), w) {
			t.Errorf("the output says %q:\n%s", w, out.String())
		}
	}
}

func TestWrongFilterCriteria(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("testdata", "filter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const second = `'{"body": [{"prefix": "paid "}]}'`
	for wrong, want := range map[string][]string{
		`'{"body": "paid"}'`:          {"wrong.yaml:21: function Foreign, event Work: filter 2 of FilterCriteria", `{"body": "paid"}: pattern.body: need a list`, "Correct it, as in"},
		`'{"body": {"a": [{"x":1}]}'`: {"wrong.yaml:21: function Foreign, event Work: filter 2", "not JSON"},
		`'{"messageId": ["1"]}'`:      {"filter 2", `filtered by their "body" only`},
		`{body: [paid]}`:              {"wrong.yaml:21: the Pattern of filter 2 of event Work of Foreign is a mapping; it must be a string of JSON"},
		`!Ref AWS::NoValue`:           {"filter 2 of event Work of Foreign has no Pattern; give one"},
	} {
		path := golden.File(t, "wrong.yaml", strings.Replace(string(good), second, wrong, 1))
		err := runLocal(t.Context(), []string{"testdata/foreign", "--template", path, "--no-samples", "--timeout", "1m"}, cli.IO{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		golden.Says(t, wrong, fmt.Sprint(err), want...)
	}
}

// A dead letter that a move task brings back is in the queue again.
func TestMovedBack(t *testing.T) {
	t.Parallel()
	out, interrupts := interruptAt("by a message move task", 1)
	var moving sync.WaitGroup
	first := &cancelOn{what: "sqs  dead-letter ", f: func() {
		endpoint := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.text.String())
		moving.Go(func() { // the view waits for its output
			connections := awssqs.New(awssqs.Options{
				Region: "us-east-1", BaseEndpoint: aws.String(endpoint),
				Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
			})
			if _, err := connections.StartMessageMoveTask(t.Context(), &awssqs.StartMessageMoveTaskInput{
				SourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:Dead"),
			}); err != nil {
				t.Error(err)
				interrupts <- os.Interrupt
			}
		})
	}}
	err := runLocal(t.Context(), []string{"testdata/foreign", "--function", "Foreign", "--timeout", "1m", "-"}, cli.IO{
		Stdin: strings.NewReader("fail\n"), Stdout: both{out, first}, Stderr: &bytes.Buffer{}, Interrupts: interrupts,
	})
	moving.Wait()
	if err != nil {
		t.Fatal(err)
	}
	text := out.text.String()
	golden.Says(t, "the output", text, "from Dead to Work by a message move task", "1 message sent: 0 succeeded, 1 still in the queue")
}

// both writes to each of two, the first one first.
type both [2]*cancelOn

func (b both) Write(p []byte) (int, error) {
	if n, err := b[0].Write(p); err != nil {
		return n, err
	}
	return b[1].Write(p)
}
