package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// served is a running command whose output is a pipe.
type served struct {
	start  string        // the output up to "ready"
	out    *bufio.Reader // the output after start
	pipe   *io.PipeReader
	client *awssqs.Client
	urls   string // the start of queue URLs, before the name
	end    func() error
}

// serveTo runs the command, with a client that is configured only by the printed variables.
func serveTo(t *testing.T, args ...string) *served {
	t.Helper()
	r, w := io.Pipe()
	interrupts := make(chan os.Signal, 1)
	ran := make(chan error, 1)
	go func() {
		err := runServe(t.Context(), append(args, "--addr", "127.0.0.1:0"), cli.IO{Stdout: show.To(w), Stderr: show.To(io.Discard), Interrupts: interrupts})
		ran <- errors.Join(err, w.Close())
	}()
	s := &served{out: bufio.NewReader(r), pipe: r, end: func() error { interrupts <- os.Interrupt; return <-ran }}
	for line := ""; line != "ready\n" && !strings.HasPrefix(line, "{"); s.start += line {
		var err error
		if line, err = s.out.ReadString('\n'); err != nil {
			t.Fatal(err, <-ran)
		}
	}
	endpoint := regexp.MustCompile(`http://127.0.0.1:\d+`).FindString(s.start)
	s.urls = regexp.MustCompile(endpoint + `/\d+/`).FindString(s.start)
	printed := regexp.MustCompile(`(?m)^  (?:export |\$env:)(AWS_\w+)(?: = '|=)([^'\n]*)'?$`).FindAllStringSubmatch(s.start, -1)
	if printed == nil { // JSON
		printed = [][]string{{"", "AWS_ENDPOINT_URL_SQS", endpoint}, {"", "AWS_REGION", "us-east-1"}, {"", "AWS_ACCESS_KEY_ID", "x"}, {"", "AWS_SECRET_ACCESS_KEY", "x"}}
	}
	for _, v := range printed {
		t.Setenv(v[1], v[2])
	}
	s.client = newClient(t)
	return s
}

// newClient returns the SDK's client for the environment.
func newClient(t *testing.T) *awssqs.Client {
	t.Helper()
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CA_BUNDLE", "") // would need another HTTP client
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	settings, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(&http.Client{Transport: connections}))
	golden.OK(t, err)
	return awssqs.NewFromConfig(settings, func(o *awssqs.Options) { o.RetryMaxAttempts = 1 })
}

// session runs the command, calls use, and returns the lines after the start.
func session(t *testing.T, use func(*awssqs.Client, string), args ...string) []string {
	t.Helper()
	s := serveTo(t, args...)
	rest := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(s.out) // the writer closes the pipe
		rest <- text
	}()
	use(s.client, s.urls)
	golden.OK(t, s.end())
	return strings.Split(strings.TrimSuffix(string(<-rest), "\n"), "\n")
}

// lifeOfTwo dead-letters one message and deletes another.
func lifeOfTwo(t *testing.T) func(*awssqs.Client, string) {
	return func(client *awssqs.Client, urls string) {
		ctx := t.Context()
		orders := aws.String(urls + "orders.fifo")
		receive := func() *string {
			t.Helper()
			got, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: orders})
			golden.OK(t, err)
			if len(got.Messages) == 0 {
				return nil
			}
			return got.Messages[0].ReceiptHandle
		}
		for _, body := range []string{`{"id": 7, "note": "a\u202eb"}`, `{"id": 7, "note": "a\u202eb"}`, "second"} {
			_, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: orders, MessageBody: &body, MessageGroupId: aws.String("g")})
			golden.OK(t, err)
		}
		handle := receive()
		_, err := client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: orders, ReceiptHandle: handle})
		golden.OK(t, err)
		_, err = client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: orders, ReceiptHandle: receive()})
		golden.OK(t, err)
		_, err = client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: orders})
		golden.OK(t, err)
	}
}

var fifoQueue = []string{"--verbose", "--queue", "orders.fifo,ContentBasedDeduplication=true,VisibilityTimeout=90,dead-letter=dead.fifo,max-receive-count=1"}

func TestEventsForPeople(t *testing.T) {
	lines := session(t, lifeOfTwo(t), fifoQueue...)
	want := []string{
		`sent +orders.fifo  ID  id=7 note=a\\u202eb  group g$`,
		`duplicate +orders.fifo  ID  id=7 .*  group g$`,
		`sent +orders.fifo  ID  second +group g$`,
		`received    try 1  orders.fifo  ID  id=7 .*  group g, hidden for 1m30s$`,
		`visibility  try 1  orders.fifo  ID  id=7 .*  group g$`,
		`returned    try 1  orders.fifo  ID  id=7 .*  group g$`,
		`redriven    try 1  orders.fifo  ID  id=7 .*  group g, to dead.fifo$`,
		`received    try 1  orders.fifo  ID  second +group g, hidden for 1m30s$`,
		`deleted     try 1  orders.fifo  ID  second +group g$`,
		`purged +orders.fifo$`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
	}
	for i, line := range lines {
		pattern := `^\d\d:\d\d:\d\d\.\d{3}  ` + strings.ReplaceAll(want[i], "ID", "[0-9a-f]{8}")
		if !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("line %d is %q, want %s", i+1, line, pattern)
		}
	}
}

func TestEventsForPrograms(t *testing.T) {
	lines := session(t, lifeOfTwo(t), append(fifoQueue, "--output", "json")...)
	var events []string
	for i, line := range lines {
		var e struct {
			Type, Timestamp, Queue, MessageID, Body, MessageGroupID, DeadLetterQueue, SequenceNumber string
			VisibleInMs                                                                              float64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e.Type)
		if e.Queue != "orders.fifo" || !strings.HasSuffix(e.Timestamp, "Z") {
			t.Errorf("line %d: %s", i+1, line)
		}
		switch {
		case e.Type == "purged":
		case e.Body == "" || e.MessageID == "" || e.MessageGroupID != "g" || e.SequenceNumber == "",
			e.Type == "received" && e.VisibleInMs < 89_000,
			(e.Type == "redriven") != (e.DeadLetterQueue == "dead.fifo"):
			t.Errorf("line %d: %s", i+1, line)
		}
	}
	const want = "sent duplicate sent received visibility returned redriven received deleted purged"
	if got := strings.Join(events, " "); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

// unread runs the command without a reader of the output, and sends messages.
func unread(t *testing.T, messages int) *served {
	t.Helper()
	s := serveTo(t, "--output", "json", "--verbose", "--queue", "orders")
	var entries []types.SendMessageBatchRequestEntry
	for i := range 10 {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String("a")})
	}
	for range messages / 10 {
		_, err := s.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: aws.String(s.urls + "orders"), Entries: entries})
		golden.OK(t, err)
	}
	return s
}

// The server continues for its clients, and the command returns the error at the end.
func TestAnOutputThatCannotBeWritten(t *testing.T) {
	s := unread(t, 10)
	golden.OK(t, s.pipe.CloseWithError(errors.New("disk full")))
	if err := s.end(); err == nil || !strings.Contains(err.Error(), "--verbose: disk full") {
		t.Errorf("error %v", err)
	}
}

// TestAnOutputThatIsNotRead: the command ends without waiting for a reader.
func TestAnOutputThatIsNotRead(t *testing.T) {
	if err := unread(t, 10).end(); err != nil {
		t.Error(err)
	}
}

// The server continues, and the output has the number of lost events.
func TestAnOutputThatIsTooSlow(t *testing.T) {
	const sent = 10_000
	s := unread(t, sent)
	events, lost := 0, 0
	for events+lost < sent { // before the end, which does not wait for long
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d events, %d lost: %v", events, lost, err)
		}
		var e struct {
			Type   string
			Events int
		}
		_ = json.Unmarshal([]byte(line), &e)
		if e.Type == "lost" {
			lost += e.Events
		} else {
			events++
		}
	}
	if events+lost != sent || lost == 0 || events == 0 {
		t.Errorf("%d events, %d lost of %d", events, lost, sent)
	}
	go func() { _, _ = io.Copy(io.Discard, s.out) }()
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// refusals makes two calls that are refused, and one that succeeds.
func refusals(t *testing.T) func(*awssqs.Client, string) {
	return func(client *awssqs.Client, urls string) {
		ctx := t.Context()
		if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: aws.String(urls + "order"), MessageBody: aws.String("a")}); err == nil {
			t.Error("a message to a queue that does not exist was accepted")
		}
		if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("a\nb")}); err == nil {
			t.Error("a queue's name with two lines was accepted")
		}
		if _, err := client.ListQueues(ctx, &awssqs.ListQueuesInput{}); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusedCallsForPrograms(t *testing.T) {
	lines := session(t, refusals(t), "--verbose", "--output", "json", "--queue", "orders")
	if len(lines) != 2 {
		t.Fatalf("%q, want two lines", lines)
	}
	for i, operation := range []string{"SendMessage", "CreateQueue"} {
		var got struct{ Type, Timestamp, Operation, Queue, Error, Reason string }
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(lines[i], err)
		}
		if got.Type != "refused" || got.Timestamp == "" || got.Operation != operation || got.Error == "" || got.Reason == "" || i == 0 && got.Queue != "order" {
			t.Errorf("%s", lines[i])
		}
	}
}

func TestWithoutVerboseNothingIsShown(t *testing.T) {
	if lines := session(t, refusals(t), "--output", "json", "--queue", "orders"); len(lines) != 1 || lines[0] != "" {
		t.Errorf("%q", lines)
	}
}
