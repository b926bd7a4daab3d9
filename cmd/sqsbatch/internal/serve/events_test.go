package serve_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// session runs the command, has use work with it, and returns the further lines.
func session(t *testing.T, use func(*awssqs.Client, string), args ...string) []string {
	t.Helper()
	r, w := io.Pipe()
	interrupts := make(chan os.Signal, 1)
	ran := make(chan error, 1)
	go func() {
		err := runServe(t.Context(), append(args, "--addr", "127.0.0.1:0"), cli.IO{Stdout: w, Stderr: io.Discard, Interrupts: interrupts})
		ran <- errors.Join(err, w.Close())
	}()
	out := bufio.NewReader(r)
	var endpoint string
	for endpoint == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err, <-ran)
		}
		endpoint = regexp.MustCompile(`http://127.0.0.1:\d+`).FindString(line)
	}
	rest := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(out) // a pipe has no other end than the writer's
		rest <- text
	}()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_SQS": endpoint, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"} {
		t.Setenv(name, value)
	}
	use(newClient(t), endpoint+"/000000000000/")
	interrupts <- os.Interrupt
	text := <-rest
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "ready\n")
	if !ok {
		after = string(text)
	}
	return strings.Split(strings.TrimSuffix(after, "\n"), "\n")
}

// lifeOfTwo has one message dead-lettered and another deleted.
func lifeOfTwo(t *testing.T) func(*awssqs.Client, string) {
	return func(client *awssqs.Client, urls string) {
		ctx := t.Context()
		orders := aws.String(urls + "orders.fifo")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		receive := func() *string {
			t.Helper()
			got, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: orders})
			must(err)
			if len(got.Messages) == 0 {
				return nil
			}
			return got.Messages[0].ReceiptHandle
		}
		for _, body := range []string{`{"id": 7, "note": "a\u202eb"}`, `{"id": 7, "note": "a\u202eb"}`, "second"} {
			_, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: orders, MessageBody: &body, MessageGroupId: aws.String("g")})
			must(err)
		}
		handle := receive()
		_, err := client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: orders, ReceiptHandle: handle})
		must(err)
		_, err = client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: orders, ReceiptHandle: receive()})
		must(err)
		_, err = client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: orders})
		must(err)
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

// TestMovesAreShown: a message that is moved back is a new one there.
func TestMovesAreShown(t *testing.T) {
	lines := session(t, func(client *awssqs.Client, urls string) {
		ctx, orders := t.Context(), aws.String(urls+"orders")
		if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: orders, MessageBody: aws.String("a")}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: orders}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.StartMessageMoveTask(ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:dead")}); err != nil {
			t.Fatal(err)
		}
		if got, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: orders, WaitTimeSeconds: 20}); err != nil || len(got.Messages) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}, "--verbose", "--queue", "orders,VisibilityTimeout=0,dead-letter=dead,max-receive-count=1")
	text := strings.Join(lines, "\n")
	for _, want := range []string{`redriven    try 1  orders  \w+  a  to dead\n`, `moved       try 1  dead    \w{8}  a  to orders as \w{8}\n`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
}

// servedTo runs the command with an output without a reader, has it observe
// messages, and returns the rest of the output and how to end the command.
func servedTo(t *testing.T, messages int) (out *bufio.Reader, pipe *io.PipeReader, end func() error) {
	t.Helper()
	r, w := io.Pipe()
	interrupts := make(chan os.Signal, 1)
	ran := make(chan error, 1)
	go func() {
		err := runServe(t.Context(), []string{"--addr", "127.0.0.1:0", "--output", "json", "--verbose", "--queue", "orders"},
			cli.IO{Stdout: w, Stderr: io.Discard, Interrupts: interrupts})
		ran <- errors.Join(err, w.Close())
	}()
	out = bufio.NewReader(r)
	first, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	endpoint := regexp.MustCompile(`http://127.0.0.1:\d+`).FindString(first)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_SQS": endpoint, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"} {
		t.Setenv(name, value)
	}
	client := newClient(t)
	var entries []types.SendMessageBatchRequestEntry
	for i := range 10 {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String("a")})
	}
	for range messages / 10 {
		if _, err := client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: aws.String(endpoint + "/000000000000/orders"), Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	return out, r, func() error { interrupts <- os.Interrupt; return <-ran }
}

// The server goes on for its clients, and the end says what was wrong.
func TestAnOutputThatCannotBeWritten(t *testing.T) {
	_, pipe, end := servedTo(t, 10)
	if err := pipe.CloseWithError(errors.New("disk full")); err != nil {
		t.Fatal(err)
	}
	if err := end(); err == nil || !strings.Contains(err.Error(), "--verbose: disk full") {
		t.Errorf("error %v", err)
	}
}

// TestAnOutputThatIsNotRead: the end does not wait for it.
func TestAnOutputThatIsNotRead(t *testing.T) {
	_, _, end := servedTo(t, 10)
	if err := end(); err != nil {
		t.Error(err)
	}
}

// The server goes on, and the output tells how many events it has lost.
func TestAnOutputThatIsTooSlow(t *testing.T) {
	const sent = 10_000
	out, _, end := servedTo(t, sent)
	events, lost := 0, 0
	for events+lost < sent { // before the end, which does not wait for long
		line, err := out.ReadString('\n')
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
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := end(); err != nil {
		t.Error(err)
	}
}
