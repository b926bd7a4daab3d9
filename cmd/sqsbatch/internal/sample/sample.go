// Package sample is the command `sqsbatch event`: it makes events of Lambda, or bodies, for tests.
//
//	sqsbatch event --body '{"id":"{{n}}"}' --count 10
//
// The messages go through the emulator, so that an event has the ids, handles and checksums of
// messages that were received.
package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

const (
	command  = "event"
	fifo     = ".fifo"
	region   = "us-east-1"
	account  = "123456789012"
	maxCount = 10_000  // of an event, as of a batch
	maxEvent = 6 << 20 // bytes, as of an invocation
)

type options struct {
	body, wrap, queue, group string
	attributes               []string
	count                    int
	rate                     float64
	attempt                  int
	seed                     uint64
	output                   string
}

const about = `Makes an SQS event as Lambda sends it, for sqsbatch local --event, for sam local invoke, and for tests. With --output bodies it writes bodies, one a line, for sqsbatch local PACKAGE -.`

const details = `## Bodies

--body and --group are templates of Go's text/template with these functions: {{n}} is the number of the message, from 1; {{uuid}} an id; {{int 1 6}} a number from 1 to 6; {{pick "a" "b"}} one of the values; {{now}} the time in UTC. The same --seed makes the same values, but for {{now}}.

## Envelopes

With --wrap sns, eventbridge or s3 the body is what that service would send to the queue: the text of --body is the message, the detail (a JSON object), or the key of the object.

## Exit status

The exit status is 0 when all messages were written, 1 when one could not be made, and 2 for a wrong command line.`

// Command returns `sqsbatch event`.
func Command(tio cli.IO) *cobra.Command {
	o := options{body: `{"id":"{{n}}"}`, wrap: "none", queue: "orders", count: 1, attempt: 1, seed: 1, output: "event"}
	cmd := &cobra.Command{
		Use:   "event [flags]",
		Short: "make an event, or messages, for tests",
		Long:  about,
		Example: `sqsbatch event --body '{"id":"o-{{n}}","quantity":{{int 1 5}}}' > one.json
sqsbatch event --wrap sns --count 6 | sqsbatch local --event - .
sqsbatch event --queue q.fifo --group 'g{{int 1 3}}' --count 6 > fifo.json
sqsbatch event --output bodies --count 1000 --rate 50 | sqsbatch local . -`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go tio.EachInterrupt(ctx, func(int) { cancel() })
			return o.run(ctx, tio)
		},
	}
	cli.Section(cmd, "What the messages are", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.body, "TEMPLATE"), "body", "the body, or what the envelope has")
		f.Var(cli.Choice(&o.wrap, "none", "sns", "eventbridge", "s3"), "wrap", "the envelope")
		f.IntVar(&o.count, "count", o.count, "how many")
		f.Var(cli.Text(&o.group, "TEMPLATE"), "group", "the message group")
		f.Var(cli.Texts(&o.attributes, "NAME=VALUE"), "attribute", "a message attribute of type String; may be repeated")
		f.Uint64Var(&o.seed, "seed", o.seed, "of the random values")
	})
	cli.Section(cmd, "What is written", func(f *pflag.FlagSet) {
		f.Var(cli.Choice(&o.output, "event", "bodies"), "output", "event: one event with all messages\nbodies: the bodies, one a line")
		f.Var(cli.Text(&o.queue, "NAME"), "queue", "the queue's name in the event; one that ends in .fifo is a FIFO queue")
		f.IntVar(&o.attempt, "attempt", o.attempt, "the number of receives in the event, as ApproximateReceiveCount")
		f.Float64Var(&o.rate, "rate", 0, "with --output bodies: how many a second (default: as fast as they are read)")
	})
	cli.Notes(cmd, details)
	return cmd
}

func (o *options) run(ctx context.Context, tio cli.IO) error {
	isFIFO := strings.HasSuffix(o.queue, fifo)
	switch {
	case o.count < 1 || o.output == "event" && o.count > maxCount:
		return cli.Usagef(command, "--count is %d; it must be 1 to %d for an event", o.count, maxCount)
	case o.rate < 0 || o.rate > 0 && o.output == "event":
		return cli.Usagef(command, "--rate is %v; it must not be negative, and is for --output bodies", o.rate)
	case o.attempt < 1 || o.attempt > 1000:
		return cli.Usagef(command, "--attempt is %d; it must be 1 to 1000", o.attempt)
	case isFIFO && o.group == "":
		o.group = "a"
	}
	g := &generator{random: rand.New(rand.NewPCG(o.seed, 0))}
	body, err := g.parse("--body", o.body)
	if err != nil {
		return err
	}
	group, err := g.parse("--group", o.group)
	if err != nil {
		return err
	}
	next := func() (text, name string, err error) {
		g.n++
		if text, err = g.text(body); err == nil {
			text, err = o.envelope(g, text)
		}
		if err == nil {
			name, err = g.text(group)
		}
		return text, name, err
	}
	if o.output == "bodies" {
		return o.writeBodies(ctx, tio, next)
	}
	return o.writeEvent(ctx, tio, next)
}

// A generator has the functions of the templates.
type generator struct {
	n      int
	random *rand.Rand
}

func (g *generator) parse(flag, text string) (*template.Template, error) {
	t, err := template.New(flag).Option("missingkey=error").Funcs(template.FuncMap{
		"n":    func() int { return g.n },
		"uuid": g.uuid,
		"now":  func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") },
		"int": func(from, to int) (int, error) {
			if to < from {
				return 0, fmt.Errorf("int %d %d: the second number is smaller than the first", from, to)
			}
			return from + g.random.IntN(to-from+1), nil
		},
		"pick": func(values ...any) (any, error) {
			if len(values) == 0 {
				return nil, errors.New("pick needs values")
			}
			return values[g.random.IntN(len(values))], nil
		},
	}).Parse(text)
	if err != nil {
		return nil, cli.Usagef(command, "%s: %v", flag, err)
	}
	return t, nil
}

func (g *generator) text(t *template.Template) (string, error) {
	var out strings.Builder
	err := t.Execute(&out, nil)
	return out.String(), err
}

func (g *generator) uuid() string {
	a, b := g.random.Uint64(), g.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}

// envelope returns what a service sends to the queue for a text.
func (o *options) envelope(g *generator, text string) (string, error) {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	type object = map[string]any
	switch o.wrap {
	case "sns":
		return encode(object{
			"Type": "Notification", "MessageId": g.uuid(), "TopicArn": "arn:aws:sns:" + region + ":" + account + ":" + o.queue, "Message": text,
			"Timestamp": now, "SignatureVersion": "1", "Signature": "EXAMPLE",
			"SigningCertURL": "https://sns." + region + ".amazonaws.com/SimpleNotificationService-EXAMPLE.pem",
			"UnsubscribeURL": "https://sns." + region + ".amazonaws.com/?Action=Unsubscribe&SubscriptionArn=EXAMPLE",
		}), nil
	case "eventbridge":
		if detail := (object{}); json.Unmarshal([]byte(text), &detail) != nil {
			return "", fmt.Errorf("message %d: the detail of an event of EventBridge is a JSON object, and --body makes %.100q", g.n, text)
		}
		return encode(object{
			"version": "0", "id": g.uuid(), "detail-type": "Sample", "source": "example.sqsbatch", "account": account, "time": now[:19] + "Z",
			"region": region, "resources": []string{}, "detail": json.RawMessage(text),
		}), nil
	case "s3":
		return encode(object{"Records": []object{{
			"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": region, "eventTime": now, "eventName": "ObjectCreated:Put",
			"userIdentity": object{"principalId": "EXAMPLE"}, "requestParameters": object{"sourceIPAddress": "203.0.113.7"},
			"responseElements": object{"x-amz-request-id": "EXAMPLE", "x-amz-id-2": "EXAMPLE"},
			"s3": object{
				"s3SchemaVersion": "1.0", "configurationId": "to-queue",
				"bucket": object{"name": "example", "ownerIdentity": object{"principalId": "EXAMPLE"}, "arn": "arn:aws:s3:::example"},
				"object": object{"key": objectKey(text), "size": 1024, "eTag": fmt.Sprintf("%016x%016x", g.random.Uint64(), g.random.Uint64()), "sequencer": fmt.Sprintf("%018X", g.n)},
			},
		}}}), nil
	}
	return text, nil
}

// objectKey encodes a key as S3's notifications do, which is the form of a query but for slashes.
func objectKey(key string) string {
	var out strings.Builder
	for _, b := range []byte(key) {
		switch {
		case b == ' ':
			out.WriteByte('+')
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-_.*/", b) >= 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

func encode(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings always marshal
	return strings.TrimSuffix(out.String(), "\n")
}

// writeBodies writes a body a line, at the rate if there is one.
func (o *options) writeBodies(ctx context.Context, tio cli.IO, next func() (body, group string, err error)) error {
	begun := time.Now()
	for i := range o.count {
		body, _, err := next()
		if err != nil {
			return err
		}
		if strings.Contains(body, "\n") {
			return fmt.Errorf("message %d has a line feed, so it does not fit on one line", i+1)
		}
		if o.rate > 0 {
			select {
			case <-time.After(time.Until(begun.Add(time.Duration(float64(i) / o.rate * float64(time.Second))))):
			case <-ctx.Done():
				return nil
			}
		}
		if _, err := fmt.Fprintln(tio.Stdout, body); err != nil {
			return err
		}
		if o.rate > 0 {
			if err := tio.Stdout.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeEvent sends the messages to a queue, receives them, and writes the event.
func (o *options) writeEvent(ctx context.Context, tio cli.IO, next func() (body, group string, err error)) error {
	server := sqs.New(sqs.Config{Region: region, AccountID: account, History: -1})
	defer server.Close()
	client := server.Client()
	in := &awssqs.CreateQueueInput{QueueName: &o.queue}
	if strings.HasSuffix(o.queue, fifo) {
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	if _, err := client.CreateQueue(ctx, in); err != nil {
		return cli.Usagef(command, "--queue %s: %v", o.queue, err)
	}
	url, attributes := aws.String(server.QueueURL(o.queue)), map[string]types.MessageAttributeValue{}
	for _, a := range o.attributes {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return cli.Usagef(command, "--attribute is %q; it must be written as NAME=VALUE", a)
		}
		attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	for n := range o.count {
		body, group, err := next()
		if err != nil {
			return err
		}
		message := &awssqs.SendMessageInput{QueueUrl: url, MessageBody: &body, MessageAttributes: attributes}
		if group != "" {
			message.MessageGroupId = &group
		}
		if in.Attributes != nil {
			message.MessageDeduplicationId = aws.String(strconv.Itoa(n + 1))
		}
		if _, err := client.SendMessage(ctx, message); err != nil {
			return fmt.Errorf("message %d: %w", n+1, err)
		}
	}
	var messages []types.Message
	for len(messages) < o.count {
		out, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: url, MaxNumberOfMessages: 10, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			return err
		}
		for _, m := range out.Messages { // those of a FIFO group are behind them
			if _, err := client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
		}
		if len(out.Messages) == 0 {
			return fmt.Errorf("only %d of %d messages came back from the emulator", len(messages), o.count)
		}
		messages = append(messages, out.Messages...)
	}
	for i := range messages {
		messages[i].Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)] = strconv.Itoa(o.attempt)
	}
	event := lambda.Event(messages, server.QueueARN(o.queue))
	if len(event) > maxEvent {
		return fmt.Errorf("the event has %d bytes, and Lambda takes %d: make fewer messages (--count), or smaller ones", len(event), maxEvent)
	}
	var out bytes.Buffer
	_ = json.Indent(&out, event, "", "  ") // it is JSON
	_, err := fmt.Fprintln(tio.Stdout, out.String())
	return err
}
