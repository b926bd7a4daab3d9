package sqs_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// step is one operation of the FIFO property; which fields count depends on do.
type step struct {
	Do      string
	Group   int
	Max     int32
	Seconds int32
	Pick    int
}

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			Do:      rapid.SampledFrom([]string{"send", "send", "receive", "receive", "delete", "hide", "sleep"}).Draw(t, "do"),
			Group:   rapid.IntRange(0, 2).Draw(t, "group"),
			Max:     rapid.Int32Range(1, 10).Draw(t, "max"),
			Seconds: rapid.Int32Range(0, 40).Draw(t, "seconds"),
			Pick:    rapid.IntRange(0, 1000).Draw(t, "pick"),
		}
	}), 1, 60)
}

// modelMessage is a message as a FIFO queue must treat it.
type modelMessage struct {
	body        string
	handle      *string
	hiddenUntil time.Time
}

// TestFIFOProperty checks any sequence of operations against the rule: a
// receive gives the first messages of groups that have none in flight, in the
// order in which they were sent, and nothing is lost.
func TestFIFOProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sequence := steps().Draw(rt, "steps")
		var failure error
		synctest.Test(t, func(t *testing.T) { failure = runFIFO(t, sequence) })
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

func runFIFO(t *testing.T, sequence []step) error {
	server := sqs.New(sqs.Options{})
	defer server.Close()
	client, ctx := newClient(server), t.Context()
	queue := aws.String(server.QueueURL("orders.fifo"))
	if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders.fifo"),
		Attributes: map[string]string{"FifoQueue": "true"}}); err != nil {
		return err
	}
	groups := map[string][]*modelMessage{} // not deleted, in order
	inFlight := func(m *modelMessage) bool { return m.hiddenUntil.After(time.Now()) }
	receive := func(at int, limit, seconds int32) error {
		out, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: limit,
			VisibilityTimeout: seconds, MessageSystemAttributeNames: allSystemAttributes})
		if err != nil {
			return err
		}
		free := 0
		for _, messages := range groups {
			if !slices.ContainsFunc(messages, inFlight) {
				free += len(messages)
			}
		}
		if len(out.Messages) != min(free, int(limit)) {
			return fmt.Errorf("step %d: received %d, want %d", at, len(out.Messages), min(free, int(limit)))
		}
		next, locked := map[string]int{}, map[string]bool{}
		for group, messages := range groups {
			locked[group] = slices.ContainsFunc(messages, inFlight)
		}
		for _, m := range out.Messages {
			group := m.Attributes["MessageGroupId"]
			if locked[group] {
				return fmt.Errorf("step %d: received %s of a locked group", at, *m.Body)
			}
			expected := groups[group][next[group]]
			if next[group]++; *m.Body != expected.body {
				return fmt.Errorf("step %d: received %s, want %s", at, *m.Body, expected.body)
			}
			expected.handle = m.ReceiptHandle
			expected.hiddenUntil = time.Now().Add(time.Duration(seconds) * time.Second)
		}
		return nil
	}
	for at, s := range sequence {
		group := fmt.Sprint("g", s.Group)
		switch s.Do {
		case "send":
			m := &modelMessage{body: fmt.Sprintf("%s-%d", group, at)}
			if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: &m.body,
				MessageGroupId: &group, MessageDeduplicationId: &m.body}); err != nil {
				return err
			}
			groups[group] = append(groups[group], m)
		case "receive":
			if err := receive(at, s.Max, max(s.Seconds, 1)); err != nil { // the SDK does not send 0
				return err
			}
		case "delete", "hide":
			if len(groups[group]) == 0 {
				continue
			}
			i := s.Pick % len(groups[group])
			m := groups[group][i]
			if m.handle == nil {
				continue
			}
			may := inFlight(m)
			var err error
			if s.Do == "delete" {
				_, err = client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: m.handle})
			} else {
				_, err = client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: queue, ReceiptHandle: m.handle, VisibilityTimeout: s.Seconds})
			}
			if (err == nil) != may {
				return fmt.Errorf("step %d: %s of %s: error %v, in flight: %v", at, s.Do, m.body, err, may)
			}
			switch {
			case !may:
			case s.Do == "delete":
				groups[group] = slices.Delete(groups[group], i, i+1)
			default:
				m.hiddenUntil = time.Now().Add(time.Duration(s.Seconds) * time.Second)
			}
		case "sleep":
			time.Sleep(time.Duration(s.Seconds) * time.Second)
		}
	}
	time.Sleep(time.Minute) // everything is visible again: nothing may be missing
	for range len(sequence)/10 + 1 {
		if err := receive(len(sequence), 10, 600); err != nil {
			return err
		}
	}
	return nil
}
