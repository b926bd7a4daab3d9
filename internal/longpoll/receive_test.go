package longpoll_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// request is what a receive asked for.
type request struct {
	MaxNumberOfMessages, WaitTimeSeconds, VisibilityTimeout int
	MessageAttributeNames, MessageSystemAttributeNames      []string
	ReceiveRequestAttemptID                                 string `json:"ReceiveRequestAttemptId"`
	deadline                                                time.Duration
}

// requests notes what receives ask for.
type requests struct {
	mu   sync.Mutex
	list []request
}

// watch notes receives; it is a testqueue.Queue's Fault.
func (q *requests) watch(operation string, r *http.Request) (*http.Response, error) {
	if operation != "ReceiveMessage" {
		return nil, nil
	}
	var one request
	if err := json.Unmarshal([]byte(bodyOf(r)), &one); err != nil {
		return nil, err
	}
	if d, ok := r.Context().Deadline(); ok {
		one.deadline = time.Until(d)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, one)
	return nil, nil
}

func (q *requests) all() []request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.list)
}

func TestReceive_AsksForTenAndAllAttributes(t *testing.T) {
	var asked requests
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Visibility = 45 * time.Second }, func(w *world) {
		w.Fault = asked.watch
		w.start()
		w.after(time.Second)
		list := asked.all()
		if len(list) != 2 {
			t.Fatalf("%d receives in the first second, want 2", len(list))
		}
		if slices.ContainsFunc(list, func(r request) bool { return r.ReceiveRequestAttemptID != "" }) {
			t.Errorf("a receive of %+v has an attempt id, which SQS refuses on a standard queue", list)
		}
		if list[0].WaitTimeSeconds != 0 {
			t.Errorf("the first receive waits %d s, want 0: it tells whether the queue can be used", list[0].WaitTimeSeconds)
		}
		r := list[1]
		if r.WaitTimeSeconds != 20 || r.MaxNumberOfMessages != 10 || r.VisibilityTimeout != 45 ||
			!slices.Equal(r.MessageAttributeNames, []string{"All"}) || !slices.Equal(r.MessageSystemAttributeNames, []string{"All"}) {
			t.Errorf("the receive asks for %+v", r)
		}
		if r.deadline < 25*time.Second || r.deadline > time.Minute {
			t.Errorf("the request may take %v, want clearly more than its wait of 20 s", r.deadline)
		}
	})
}

func TestReceivedRecord_HasAllAttributes(t *testing.T) {
	var got batch.Record
	inWorld(t, fifoQueue, func(_ context.Context, r batch.Record) error { got = r; return nil }, nil, func(w *world) {
		w.SendInput(&awssqs.SendMessageInput{
			MessageBody: aws.String("body"), MessageGroupId: aws.String("group"), MessageDeduplicationId: aws.String("dedup"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"text":  {DataType: aws.String("String"), StringValue: aws.String("value")},
				"bytes": {DataType: aws.String("Binary.png"), BinaryValue: []byte{0, 1}},
			},
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
			},
		})
		sent := time.Now()
		w.after(3 * time.Second)
		w.start()
		w.after(time.Second)
		if got.Body != "body" || got.GroupID != "group" || got.DeduplicationID != "dedup" || got.SequenceNumber == "" || got.Attempt != 1 ||
			got.MessageID == "" || got.ReceiptHandle == "" || got.MD5OfBody == "" || got.MD5OfMessageAttributes == "" ||
			got.TraceHeader == "" || got.SenderID == "" || got.QueueARN != w.ARN || got.Region != "eu-west-1" || !got.FIFO() {
			t.Errorf("the record is %+v", got)
		}
		if !got.SentAt.Equal(sent) || !got.ReceivedAt.Equal(sent.Add(3*time.Second)) || !got.FirstReceivedAt.Equal(got.ReceivedAt) {
			t.Errorf("sent %v, received %v, first %v; want %v and 3 s later", got.SentAt, got.ReceivedAt, got.FirstReceivedAt, sent)
		}
		if a := got.MessageAttributes; len(a) != 2 || a["text"].StringValue != "value" || !bytes.Equal(a["bytes"].BinaryValue, []byte{0, 1}) || a["bytes"].DataType != "Binary.png" {
			t.Errorf("attributes %+v", a)
		}
	})
}

// openReceives is how many receives were open at a time, at most.
func openReceives(w *world, since time.Time) (most int) {
	calls := w.Server().Calls("ReceiveMessage")
	for _, c := range calls {
		n := 0
		for _, other := range calls {
			if !other.Began.After(c.Began) && other.Ended.After(c.Began) && !c.Began.Before(since) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestReceives_AreSeveralUnderLoadAndOneWhenIdle(t *testing.T) {
	work := func(context.Context, batch.Record) error { time.Sleep(10 * time.Millisecond); return nil }
	inWorld(t, standardQueue, work, func(c *longpoll.Config) { c.Engine.Concurrency = 64 }, func(w *world) {
		w.sendMany(2000)
		w.inject(sqs.Fault{Kind: sqs.Latency, Latency: 20 * time.Millisecond, Operation: "ReceiveMessage"})
		w.start()
		w.after(5 * time.Second)
		if n := w.deleted(); n != 2000 {
			t.Fatalf("%d of 2000 were deleted", n)
		}
		if most := openReceives(w, w.began); most < 4 {
			t.Errorf("at most %d receives were open at a time under load, want several", most)
		}
		since := time.Now()
		w.after(65 * time.Second)
		if n := openReceives(w, since); n != 1 {
			t.Errorf("%d receives are open at an idle queue, want 1", n)
		}
		full, all := 0, w.Server().Calls("ReceiveMessage")
		for _, c := range all {
			if c.Messages == 10 {
				full++
			}
		}
		if full < 180 {
			t.Errorf("%d of %d receives brought ten, want nearly all of 200", full, len(all))
		}
	})
}

// SQS may have taken messages for a receive without an answer, or with an error of its own.
func TestFIFOReceiveThatFails_IsRepeated(t *testing.T) {
	for _, fault := range []sqs.Fault{{Kind: sqs.LostAnswer}, {Kind: sqs.Failure, CarriedOut: true}} {
		t.Run(string(fault.Kind), func(t *testing.T) {
			var asked requests
			inWorld(t, fifoQueue, ok, nil, func(w *world) {
				w.Fault = asked.watch
				w.Send("g:1", "g:2", "h:1")
				fault.Operation, fault.Times = "ReceiveMessage", 2
				w.inject(fault)
				w.start()
				w.after(2 * time.Second)
				if got := w.bodies(); len(got) != 3 || w.deleted() != 3 {
					t.Errorf("handled %v and deleted %d, want all three within two seconds: SQS took them for a receive that failed", got, w.deleted())
				}
				list := asked.all()
				if id := list[0].ReceiveRequestAttemptID; id == "" || list[1].ReceiveRequestAttemptID != id || list[2].ReceiveRequestAttemptID != id {
					t.Errorf("attempt ids %q, %q, %q: want the same until it is answered", id, list[1].ReceiveRequestAttemptID, list[2].ReceiveRequestAttemptID)
				}
				if list[3].ReceiveRequestAttemptID == list[2].ReceiveRequestAttemptID {
					t.Error("an answered receive's attempt id is used again")
				}
				for _, e := range w.Events(sqs.Received) {
					if e.ReceiveCount > 1 {
						t.Errorf("%s was received %d times", e.Body, e.ReceiveCount)
					}
				}
			})
		})
	}
}

func TestConcurrentFIFOReceivesWithoutAnswer_AreRepeated(t *testing.T) {
	work := func(context.Context, batch.Record) error { time.Sleep(50 * time.Millisecond); return nil }
	inWorld(t, fifoQueue, work, func(c *longpoll.Config) { c.Engine.Concurrency = 100 }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Latency, Latency: 20 * time.Millisecond, Operation: "ReceiveMessage"},
			sqs.Fault{Kind: sqs.LostAnswer, Operation: "ReceiveMessage", Skip: 10, Times: 3})
		w.Send(numbered(300, ":x")...)
		w.start()
		w.after(10 * time.Second)
		w.wantDeleted(300)
	})
}

func TestOneSlot_ReceivesAskForOne(t *testing.T) {
	var asked requests
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Engine.Concurrency, c.Wait = 1, 3*time.Second }, func(w *world) {
		w.Fault = asked.watch
		w.start()
		w.after(time.Minute)
		for _, r := range asked.all()[1:] {
			if r.MaxNumberOfMessages != 1 || r.WaitTimeSeconds != 3 {
				t.Fatalf("a receive asks for %d messages and waits %d s, want 1 and 3", r.MaxNumberOfMessages, r.WaitTimeSeconds)
			}
		}
	})
}

// SQS may return fewer than ten while the queue has thousands. One such answer
// must not end the receives side by side, which take long to come back.
func TestPartialReceivesOfFullQueue_KeepThroughput(t *testing.T) {
	h := func(context.Context, batch.Record) error { time.Sleep(10 * time.Millisecond); return nil }
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 64 }, func(w *world) {
		w.sendMany(6000)
		w.inject(latency(20 * time.Millisecond))
		var receives atomic.Int32
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == "ReceiveMessage" && receives.Add(1)%8 == 0 {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				fewer := strings.Replace(string(body), `"MaxNumberOfMessages":10`, `"MaxNumberOfMessages":7`, 1)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewBufferString(fewer)), int64(len(fewer))
			}
			return nil, nil
		}
		w.start()
		w.after(time.Second)
		if n := len(w.bodies()); n < 4500 {
			t.Errorf("%d were handled in the first second, want at least 4500 of the 6400 that the slots allow", n)
		}
		w.after(time.Minute)
		before := len(w.Server().Calls("ReceiveMessage"))
		w.after(time.Minute)
		if n := len(w.Server().Calls("ReceiveMessage")) - before; n > 4 {
			t.Errorf("%d receives in a minute of the empty queue, want 3", n)
		}
	})
}

// Slots that open receives can fill ask for nothing more: small receives next to those would
// bring one message each. Groups of quick records leave slots idle for a moment: full receives
// a moment later cost less than small ones now.
func TestReceive_QuickGroupsComeInTens(t *testing.T) {
	for takes, most := range map[time.Duration]int{0: 180, 15 * time.Millisecond: 240} {
		inWorld(t, fifoQueue, lasting(takes), func(c *longpoll.Config) { c.Engine.Concurrency = 32 }, func(w *world) {
			w.inject(latency(5 * time.Millisecond))
			w.Send(inGroups(1200, 60)...)
			w.ForgetCalls()
			w.start()
			w.after(time.Minute)
			if n, receives := w.deleted(), w.count(receiving); n != 1200 || receives > most {
				t.Errorf("records that take %v: deleted %d of 1200 with %d receives, want at most %d", takes, n, receives, most)
			}
		})
	}
}

// inGroups are n bodies in a number of groups, which take turns.
func inGroups(n, groups int) []string {
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprintf("group%d:%d", i%groups, i)
	}
	return bodies
}

// A slot that becomes free next to slow records is filled, although nothing
// finishes that would ask for more.
func TestSlotFreeDuringSlowRecords_IsFilled(t *testing.T) {
	inWorld(t, fifoQueue, sleepingFor("slow", 10*time.Minute), func(c *longpoll.Config) { c.Engine.Concurrency = 4 }, func(w *world) {
		w.Send(append([]string{"slow"}, inGroups(300, 40)...)...)
		w.start()
		w.after(time.Minute)
		w.Send("later:1")
		w.after(5 * time.Second)
		w.wantDeleted(301) // the quick ones and the later one
	})
}

// net/http may look at the body of a request after the SDK has closed it. An error then breaks
// the connection, and the answer is lost: the messages of a receive stay hidden.
func TestCalls_BodyCanBeReadAfterTheAnswer(t *testing.T) {
	handler := func(_ context.Context, r batch.Record) error {
		if r.Body == "m-2" {
			return errors.New("made to fail")
		}
		time.Sleep(4 * time.Minute) // until after a heartbeat
		return nil
	}
	inWorld(t, standardQueue, handler, nil, func(w *world) {
		w.sendMany(2)
		var mu sync.Mutex
		bodies := map[string]io.Reader{}
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			bodies[operation] = r.Body
			return nil, nil
		}
		w.start()
		w.after(5 * time.Minute)
		w.stop()
		for operation, body := range bodies {
			if _, err := io.Copy(io.Discard, body); err != nil {
				t.Errorf("%s: %v", operation, err)
			}
		}
		for _, operation := range []string{receiving, "GetQueueAttributes", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			if bodies[operation] == nil {
				t.Errorf("there was no %s", operation)
			}
		}
	})
}
