package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

type queue struct {
	from       string // the flag or the template's resource, for errors
	flag       bool   // from is a flag
	name       string
	attributes map[string]string // for CreateQueue, without RedrivePolicy
	redrive    string            // RedrivePolicy of the flag
	// deadLetter is the name of the dead-letter queue; "" for none, or if redrive has one.
	deadLetter      string
	maxReceiveCount int
}

// errorf returns an error that names the queue: a usage error for a flag.
func (q *queue) errorf(format string, args ...any) error {
	text := q.from + ": " + fmt.Sprintf(format, args...)
	if q.flag {
		return cli.Usagef(command, "%s", text)
	}
	return errors.New(text)
}

// policy returns the RedrivePolicy, "" for none.
func (q *queue) policy(arn func(name string) string) string {
	if q.deadLetter == "" {
		return q.redrive
	}
	text, _ := json.Marshal(map[string]any{ // strings and numbers always marshal
		"deadLetterTargetArn": arn(q.deadLetter), "maxReceiveCount": q.maxReceiveCount,
	})
	return string(text)
}

type queueFlags []queue

func (f *queueFlags) String() string { return "" }

func (f *queueFlags) Type() string { return "NAME[,ATTRIBUTE=VALUE...]" }

// attributeStart matches the start of an attribute. Other commas are part of a value.
var attributeStart = regexp.MustCompile(`,([A-Za-z][A-Za-z-]*=)`)

// defaultMaxReceiveCount is SQS's own (SetQueueAttributes in the API reference).
const defaultMaxReceiveCount = 10

func (f *queueFlags) Set(s string) error {
	parts := strings.Split(attributeStart.ReplaceAllString(s, "\x00$1"), "\x00") // no argument contains NUL
	q := queue{from: "--queue " + s, flag: true, name: parts[0], attributes: map[string]string{}}
	var count string
	for _, part := range parts[1:] {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "dead-letter":
			q.deadLetter = value
		case "max-receive-count":
			count = value
		case "RedrivePolicy":
			q.redrive = value
		default:
			q.attributes[key] = value
		}
	}
	switch {
	case q.name == "" || strings.ContainsAny(q.name, ",="):
		return errors.New("it must be written as NAME or NAME,ATTRIBUTE=VALUE,…")
	case count != "" && q.deadLetter == "":
		return errors.New("max-receive-count needs dead-letter=NAME, the queue that messages go to then")
	case q.redrive != "" && q.deadLetter != "":
		return errors.New("both RedrivePolicy and dead-letter say where dead letters go; give one")
	}
	var err error
	q.maxReceiveCount, err = strconv.Atoi(cmp.Or(count, strconv.Itoa(defaultMaxReceiveCount)))
	if err != nil || q.maxReceiveCount < 1 || q.maxReceiveCount > 1000 {
		return fmt.Errorf("max-receive-count is %q; it must be a number from 1 to 1000", count)
	}
	*f = append(*f, q)
	return nil
}

// plan returns the queues of the template and of the flags, and their dead-letter queues.
func (o *options) plan() (queues []queue, warnings []template.Finding, err error) {
	if o.template != "" {
		if queues, warnings, err = o.templateQueues(); err != nil {
			return nil, nil, fmt.Errorf("--template: %w", err)
		}
	}
	queues = append(queues, o.queues...)
	from := map[string]string{} // by name
	for _, q := range queues {
		if other := from[q.name]; other != "" {
			return nil, nil, q.errorf("%s has the same name; remove one of them", other)
		}
		from[q.name] = q.from
	}
	for _, q := range queues {
		if q.deadLetter != "" && from[q.deadLetter] == "" {
			from[q.deadLetter] = q.from
			queues = append(queues, queue{from: q.from, flag: q.flag, name: q.deadLetter, attributes: map[string]string{}})
		}
	}
	for _, q := range queues {
		if strings.HasSuffix(q.name, ".fifo") && q.attributes["FifoQueue"] == "" {
			q.attributes["FifoQueue"] = "true"
		}
	}
	return queues, warnings, nil
}

func (o *options) templateQueues() (queues []queue, warnings []template.Finding, err error) {
	t, err := template.Read(o.template)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no file %s", o.template)
	}
	if err != nil {
		return nil, nil, err
	}
	st, err := t.Stack(template.Options{Parameters: o.parameters, Region: o.region, AccountID: o.account})
	if err != nil {
		return nil, nil, err
	}
	found, warnings, err := st.Queues()
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		text := o.template + " has no queue that can be created"
		for _, w := range warnings {
			text += "; " + w.String()
		}
		return nil, nil, errors.New(text)
	}
	for _, q := range found {
		delete(q.Attributes, "RedrivePolicy")
		queues = append(queues, queue{
			from: o.template + ": queue " + cmp.Or(q.LogicalID, q.Name), name: q.Name, attributes: q.Attributes,
			deadLetter: batch.QueueName(q.DeadLetterARN), maxReceiveCount: q.MaxReceiveCount,
		})
	}
	return queues, warnings, nil
}

// create makes the queues, and then their redrive policies.
func create(ctx context.Context, server *sqs.Server, queues []queue) error {
	client := server.Client(func(o *awssqs.Options) { o.RetryMaxAttempts = 1 })
	for _, q := range queues {
		if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &q.name, Attributes: q.attributes}); err != nil {
			return q.refused(err)
		}
	}
	for _, q := range queues {
		policy := q.policy(server.QueueARN)
		if policy == "" {
			continue
		}
		if _, err := client.SetQueueAttributes(ctx, &awssqs.SetQueueAttributesInput{
			QueueUrl: aws.String(server.QueueURL(q.name)), Attributes: map[string]string{"RedrivePolicy": policy},
		}); err != nil {
			return q.refused(err)
		}
	}
	return nil
}

// refused returns an error that names the queue and contains the server's error.
func (q *queue) refused(err error) error {
	refusal, ok := errors.AsType[smithy.APIError](err)
	switch {
	case !ok:
		return q.errorf("%v", err)
	case refusal.ErrorCode() == "InvalidAttributeName":
		return q.errorf("%s Attributes have the names of CreateQueue, as in VisibilityTimeout=60", refusal.ErrorMessage())
	default:
		return q.errorf("%s: %s", refusal.ErrorCode(), refusal.ErrorMessage())
	}
}
