package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

// A cliStep is one command of the AWS CLI. $NAME in its arguments and in what
// is wanted stands for what an earlier step saved.
type cliStep struct {
	args string // separated by blanks, quoted by '
	// want is what the answer has at each path ("Messages.0.Body"); "" is for
	// nothing there.
	want map[string]string
	save map[string]string // names for what is at paths
	// fails is what the error must say; "" is for no error.
	fails string
}

var cliSteps = []cliStep{
	{
		args: `create-queue --queue-name dead`,
		want: map[string]string{"QueueUrl": "$ENDPOINT/000000000000/dead"},
		save: map[string]string{"DEAD": "QueueUrl"},
	},
	{
		args: `create-queue --queue-name orders --attributes '{"VisibilityTimeout":"0","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\",\"maxReceiveCount\":1}"}' --tags team=shipping`,
		save: map[string]string{"ORDERS": "QueueUrl"},
	},
	{
		args: `list-queues --queue-name-prefix o`,
		want: map[string]string{"QueueUrls.0": "$ORDERS", "QueueUrls.1": ""},
	},
	{
		args: `get-queue-attributes --queue-url $ORDERS --attribute-names VisibilityTimeout QueueArn`,
		want: map[string]string{"Attributes.VisibilityTimeout": "0", "Attributes.QueueArn": "arn:aws:sqs:us-east-1:000000000000:orders", "Attributes.DelaySeconds": ""},
	},
	{
		args: `list-queue-tags --queue-url $ORDERS`,
		want: map[string]string{"Tags.team": "shipping"},
	},
	{
		args: `send-message --queue-url $ORDERS --message-body '{"id": 7}' --message-attributes '{"n":{"DataType":"Number","StringValue":"7"}}'`,
		want: map[string]string{"MD5OfMessageBody": "02bdf15d4b421ca9bc33f0e538cfce98"},
		save: map[string]string{"ID": "MessageId"},
	},
	{
		args: `receive-message --queue-url $ORDERS --attribute-names All --message-attribute-names All --wait-time-seconds 5`,
		want: map[string]string{
			"Messages.0.MessageId": "$ID", "Messages.0.Body": `{"id": 7}`,
			"Messages.0.MessageAttributes.n.StringValue": "7", "Messages.0.Attributes.ApproximateReceiveCount": "1",
		},
	},
	{args: `receive-message --queue-url $ORDERS`}, // dead-lettered: no output at all
	{
		args: `start-message-move-task --source-arn arn:aws:sqs:us-east-1:000000000000:dead`,
		save: map[string]string{"TASK": "TaskHandle"},
	},
	{
		args: `receive-message --queue-url $ORDERS --wait-time-seconds 10 --visibility-timeout 30`,
		want: map[string]string{"Messages.0.Body": `{"id": 7}`}, // moved, it has another id
		save: map[string]string{"RECEIPT": "Messages.0.ReceiptHandle"},
	},
	{
		args: `list-message-move-tasks --source-arn arn:aws:sqs:us-east-1:000000000000:dead`,
		want: map[string]string{"Results.0.Status": "COMPLETED", "Results.0.ApproximateNumberOfMessagesMoved": "1"},
	},
	{args: `change-message-visibility --queue-url $ORDERS --receipt-handle $RECEIPT --visibility-timeout 60`},
	{
		args: `delete-message-batch --queue-url $ORDERS --entries Id=a,ReceiptHandle=$RECEIPT Id=b,ReceiptHandle=none`,
		want: map[string]string{"Successful.0.Id": "a", "Failed.0.Id": "b", "Failed.0.Code": "ReceiptHandleIsInvalid", "Failed.0.SenderFault": "true"},
	},
	{
		args: `create-queue --queue-name events.fifo --attributes FifoQueue=true`,
		save: map[string]string{"EVENTS": "QueueUrl"},
	},
	{
		args: `send-message-batch --queue-url $EVENTS --entries Id=a,MessageBody=one,MessageGroupId=g,MessageDeduplicationId=1 Id=b,MessageBody=two,MessageGroupId=g,MessageDeduplicationId=2`,
		want: map[string]string{"Successful.1.Id": "b"},
		save: map[string]string{"NUMBER": "Successful.1.SequenceNumber"},
	},
	{
		args: `receive-message --queue-url $EVENTS --max-number-of-messages 10 --attribute-names SequenceNumber`,
		want: map[string]string{"Messages.0.Body": "one", "Messages.1.Body": "two", "Messages.1.Attributes.SequenceNumber": "$NUMBER"},
	},
	{args: `purge-queue --queue-url $EVENTS`},
	{args: `delete-queue --queue-url $EVENTS`},
	{args: `get-queue-url --queue-name events.fifo`, fails: "(AWS.SimpleQueueService.NonExistentQueue)"},
	{args: `delete-message --queue-url $DEAD --receipt-handle none`, fails: "(ReceiptHandleIsInvalid)"},
}

// A cli carries out the steps of the AWS CLI.
type cli struct {
	env   *pyenv.Env
	saved map[string]string
}

func (c *cli) check(ctx context.Context, s *sqsserver.Server) error {
	c.saved = map[string]string{"ENDPOINT": s.URL}
	for _, step := range cliSteps {
		begin := time.Now()
		operation, _, _ := strings.Cut(step.args, " ")
		if err := c.step(ctx, s, step); err != nil {
			// Later steps stand on this one.
			return fmt.Errorf("aws sqs %s: %w", os.Expand(step.args, c.get), err)
		}
		fmt.Printf("%6d ms  aws sqs %s\n", time.Since(begin).Milliseconds(), operation)
	}
	return nil
}

func (c *cli) get(name string) string { return c.saved[name] }

func (c *cli) step(ctx context.Context, s *sqsserver.Server, step cliStep) error {
	// Version 1 of the CLI has an endpoint of its own for SQS, which comes before
	// the environment's.
	args := []string{"-m", "awscli", "--endpoint-url", s.URL, "--output", "json", "sqs"}
	for _, arg := range words(step.args) {
		args = append(args, os.Expand(arg, c.get))
	}
	cmd := c.env.Command(ctx, args...)
	cmd.Env = environment(s.URL)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return err
	case step.fails != "" && (err == nil || !strings.Contains(stderr.String(), step.fails)):
		return fmt.Errorf("expected an error that says %s, came %v: %s%s", step.fails, err, out, stderr.Bytes())
	case step.fails != "":
		return nil
	case err != nil:
		return fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return c.compare(step, out)
}

func (c *cli) compare(step cliStep, out []byte) error {
	var answer any
	if len(bytes.TrimSpace(out)) > 0 {
		if err := json.Unmarshal(out, &answer); err != nil {
			return fmt.Errorf("expected JSON, came %s", out)
		}
	}
	if answer != nil && len(step.want)+len(step.save) == 0 {
		return fmt.Errorf("expected no output, came %s", out)
	}
	for _, path := range slices.Sorted(maps.Keys(step.want)) {
		want := os.Expand(step.want[path], c.get)
		if got := at(answer, path); got != want {
			return fmt.Errorf("expected %s %q, came %q in %s", path, want, got, out)
		}
	}
	for name, path := range step.save {
		if c.saved[name] = at(answer, path); c.saved[name] == "" {
			return fmt.Errorf("expected %s, came %s", path, out)
		}
	}
	return nil
}

// at is what a JSON value has at a path, "" for nothing.
func at(value any, path string) string {
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			value = nil
			if i, err := strconv.Atoi(key); err == nil && i < len(v) {
				value = v[i]
			}
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// words splits a command line at blanks outside of quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
