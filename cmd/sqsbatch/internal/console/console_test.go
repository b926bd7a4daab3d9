package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a console in front of an emulator without sockets.
type world struct {
	t      *testing.T
	c      *Console
	server *sqs.Server
	client *awssqs.Client
}

// newWorld has the queues orders, with the dead-letter queue dead and maxReceiveCount 2, and
// steps.fifo.
func newWorld(t *testing.T) *world {
	t.Helper()
	c := newConsole()
	record, err := newRecorder(filepath.Join(t.TempDir(), "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	c.record = record
	server := sqs.New(sqs.Config{Observe: c.Observe(nil), ObserveCall: c.ObserveCall(nil)})
	t.Cleanup(func() {
		_ = server.Close()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	c.run = Run{Server: server}
	w := &world{t, c, server, server.Client()}
	w.create("dead", nil)
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, server.QueueARN("dead"))
	w.create("orders", map[string]string{"RedrivePolicy": policy, "VisibilityTimeout": "60"})
	w.create("steps.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(name string, attributes map[string]string) {
	w.t.Helper()
	_, err := w.client.CreateQueue(w.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	w.must(err)
}

func (w *world) url(queue string) *string { return aws.String(w.server.QueueURL(queue)) }

func (w *world) send(queue, body string, more ...func(*awssqs.SendMessageInput)) (id string) {
	w.t.Helper()
	in := &awssqs.SendMessageInput{QueueUrl: w.url(queue), MessageBody: &body}
	for _, f := range more {
		f(in)
	}
	out, err := w.client.SendMessage(w.t.Context(), in)
	w.must(err)
	return *out.MessageId
}

func (w *world) receive(queue string) []types.Message {
	w.t.Helper()
	out, err := w.client.ReceiveMessage(w.t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: w.url(queue)})
	w.must(err)
	return out.Messages
}

func (w *world) delete(queue string, m types.Message) {
	w.t.Helper()
	_, err := w.client.DeleteMessage(w.t.Context(), &awssqs.DeleteMessageInput{QueueUrl: w.url(queue), ReceiptHandle: m.ReceiptHandle})
	w.must(err)
}

func (w *world) hide(queue string, m types.Message, seconds int32) {
	w.t.Helper()
	_, err := w.client.ChangeMessageVisibility(w.t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: w.url(queue), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds})
	w.must(err)
}

// why is what the page says of a message.
func (w *world) why(id string) string {
	w.t.Helper()
	l := w.c.look()
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	x := w.c.model.messages[id]
	if x == nil {
		w.t.Fatalf("there is no message %s", id)
	}
	return w.c.model.why(x, l.policies[x.queue], l.at).Text
}

func (w *world) says(id, want string) {
	w.t.Helper()
	if got := w.why(id); !strings.Contains(got, want) {
		w.t.Errorf("the page says %q of the message, not %q", got, want)
	}
}

// do makes a request. A form is posted.
func (w *world) do(path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:9"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, f := range change {
		f(r)
	}
	out := httptest.NewRecorder()
	guard(w.c.routes()).ServeHTTP(out, r)
	return out
}

func TestWhy_SaysWhatAMessageWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := w.send("orders", "a")
		w.says(first, "no consumer has called ReceiveMessage on this queue")
		m := w.receive("orders")[0]
		w.says(first, "A consumer has it at attempt 1.")
		w.says(first, "1 receive left before SQS moves it to dead.")
		second := w.send("orders", "b")
		time.Sleep(2 * time.Second)
		w.says(second, "no consumer has called ReceiveMessage since")
		w.hide("orders", m, 0)
		w.receive("orders")
		w.says(first, "It can be received. It is the next one.")
		third := w.send("orders", "c")
		w.says(third, "after 1 other message")
		w.must(w.server.Pause("orders", true))
		if got := w.receive("orders"); len(got) > 0 {
			t.Errorf("a paused queue gives %v", got)
		}
		w.says(third, "paused on this page")
		w.must(w.server.Pause("orders", false))
		late := w.send("orders", "d", func(in *awssqs.SendMessageInput) { in.DelaySeconds = 30 })
		w.says(late, "It was sent with a delay")

		one := w.send("steps.fifo", "1", group("g"))
		two := w.send("steps.fifo", "2", group("g"))
		other := w.send("steps.fifo", "3", group("h"))
		w.says(two, "behind another message of its group g, which has to be received first")
		w.shows("/queues/steps.fifo", `<td><span class="state" data-state="behind its group">`)
		w.receive("steps.fifo")
		w.says(one, "A consumer has it")
		w.says(one, "no dead-letter queue")
		w.says(two, "behind another message of its group g, which is in flight")
		w.says(other, "no message of its group is ahead of it")

		w.must(w.server.Inject(sqs.Fault{Kind: sqs.Throttled, Operation: "ReceiveMessage", Times: 100}))
		same := func(in *awssqs.SendMessageInput) { in.MessageGroupId = aws.String("k") }
		again := w.send("steps.fifo", "same", same)
		w.send("steps.fifo", "same", same)
		w.says(again, "no message of its group is ahead of it")
		fresh := w.send("orders", "e")
		_, _ = w.client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: w.url("orders")})
		w.says(fresh, "the last ReceiveMessage failed with ")
		w.server.ClearFaults()
	})
}

func group(name string) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) { in.MessageGroupId = &name }
}

func TestWhy_SaysHowAMessageEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		done := w.send("orders", "a")
		w.delete("orders", w.receive("orders")[0])
		w.says(done, "A consumer deleted it at attempt 1.")

		failed := w.send("orders", "b")
		w.hide("orders", w.receive("orders")[0], 30)
		w.c.Event(track.Record{MessageID: failed, Attempt: 1, Outcome: track.Retry, Reason: "no stock", Duration: time.Second, Allowed: 9 * time.Second, VisibleIn: 30 * time.Second})
		w.says(failed, "Attempt 1 ended as retry: no stock. It waits for its backoff. 1 receive left")
		time.Sleep(31 * time.Second)
		w.receive("orders")
		w.says(failed, "This was the last of 2 receives: after a failure SQS moves it to dead.")
		time.Sleep(time.Minute)
		w.says(failed, "It has used all 2 receives. The next ReceiveMessage moves it to dead.")
		w.receive("orders")
		w.says(failed, "SQS moved it here from queue orders after 2 receives, as many as maxReceiveCount allows. Attempt 1 ended as retry: no stock.")

		// The toolkit sends a copy, which is a new message.
		source := w.send("orders", "c")
		m := w.receive("orders")[0]
		value, _ := partialfailure.Origin{Reason: "unknown sku 7", MessageID: source, Attempts: 1, Queue: w.server.QueueARN("orders")}.Value(1000)
		dead := w.send("dead", "c", func(in *awssqs.SendMessageInput) {
			in.MessageAttributes = map[string]types.MessageAttributeValue{partialfailure.OriginAttribute: {DataType: aws.String("String"), StringValue: &value}}
		})
		w.delete("orders", m)
		w.says(dead, "The consumer of queue orders sent it here after 1 attempt: unknown sku 7")
		w.says(source, "deleted it at attempt 1")
		page := w.do("/dead-letters", nil).Body.String()
		for _, want := range []string{"1 of orders: unknown sku …", "1 of orders: no stock", "Replay all 2 of dead"} {
			if !strings.Contains(page, want) {
				t.Errorf("the dead letters do not have %q:\n%s", want, page)
			}
		}
		if got := w.do("/queues/dead/replay", url.Values{"from": {"orders"}, "reason": {"unknown sku …"}, "back": {"/dead-letters"}}); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/dead-letters" {
			t.Errorf("a replay answers %d: %s", got.Code, got.Body)
		}
		w.says(dead, "A replay moved it to queue orders")
		if got := w.do("/queues/dead/replay", url.Values{"id": {failed}}); got.Code != http.StatusSeeOther {
			t.Errorf("a replay answers %d: %s", got.Code, got.Body)
		}
		if got := w.server.Queues(); got[1].Name != "orders" || got[1].Visible != 2 || got[0].Visible != 0 {
			t.Errorf("after both replays the queues have %+v", got)
		}
		if got := w.do("/queues/dead/replay", url.Values{}); got.Code != http.StatusBadRequest {
			t.Errorf("a replay of nothing answers %d", got.Code)
		}
	})
}

func TestWhy_CountsReceivesOfTheQueueOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("grave", nil)
		w.create("later", map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":3}`, w.server.QueueARN("grave")), "VisibilityTimeout": "1"})
		_, err := w.client.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{QueueUrl: w.url("orders"), Attributes: map[string]string{
			"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, w.server.QueueARN("later")), "VisibilityTimeout": "1",
		}})
		w.must(err)
		id := w.send("orders", "a")
		for range 2 {
			w.receive("orders")
			time.Sleep(2 * time.Second)
		}
		w.receive("orders")
		w.says(id, "SQS moved it here from queue orders after 2 receives")
		w.receive("later")
		w.says(id, "2 receives left before SQS moves it to grave.")
		for range 3 {
			time.Sleep(2 * time.Second)
			w.receive("later")
		}
		w.says(id, "SQS moved it here from queue later after 3 receives")
	})
}

func TestWhy_TellsABackoffFromAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := w.send("orders", "a")
		w.hide("orders", w.receive("orders")[0], 60) // a heartbeat
		w.says(id, "A consumer has it at attempt 1.")
		w.c.Event(track.Record{MessageID: id, Attempt: 1, Outcome: track.CutOff, Reason: "killed", Duration: -1, Allowed: -1, VisibleIn: -1})
		w.says(id, "Attempt 1 ended as cut-off: killed. It comes back when its visibility timeout ends.")

		// The outcome of the first attempt comes last, as that of a slow batch does.
		late := w.send("orders", "b")
		w.hide("orders", w.receive("orders")[0], 0)
		w.hide("orders", w.receive("orders")[0], 30)
		for _, n := range []int{2, 1} {
			w.c.Event(track.Record{MessageID: late, Invocation: n, Attempt: n, Outcome: track.Retry, Reason: fmt.Sprint("reason\nof ", n), Duration: -1, Allowed: -1, VisibleIn: -1})
		}
		w.says(late, "Attempt 2 ended as retry: reason\nof 2. It waits for its backoff. This was the last of 2 receives")
		if page := w.do("/", nil).Body.String(); !strings.Contains(page, "<td>reason of …</td>") {
			t.Errorf("the board does not group the reason:\n%s", page)
		}
	})
}

func TestReplay_MovesWhatTheGroupHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("invoices", map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, w.server.QueueARN("dead"))})
		for _, queue := range []string{"orders", "invoices"} {
			w.send(queue, queue)
			for range 3 {
				w.receive(queue)
				time.Sleep(61 * time.Second)
			}
		}
		if got := w.do("/queues/dead/replay", url.Values{"from": {"invoices"}, "reason": {"no reason is known"}}); got.Code != http.StatusSeeOther {
			t.Fatalf("the replay answers %d: %s", got.Code, got.Body)
		}
		dead := w.server.Snapshot()[0]
		if len(dead.Messages) != 1 || dead.Messages[0].Body != "orders" {
			t.Errorf("the dead-letter queue has %+v", dead.Messages)
		}
	})
}

// Who may only send a message cannot say where dead letters go, or what became of others.
func TestOrigin_MustBeOfAMessageThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		other := w.send("orders", "a")
		for _, o := range []partialfailure.Origin{
			{Reason: "x", MessageID: "unknown", Queue: w.server.QueueARN("orders")},
			{Reason: "x", MessageID: other, Queue: "arn:aws:sqs:us-east-1:000000000000:steps.fifo"},
			{Reason: "x", MessageID: other},
		} {
			value, _ := o.Value(1000)
			id := w.send("dead", "spoofed", func(in *awssqs.SendMessageInput) {
				in.MessageAttributes = map[string]types.MessageAttributeValue{partialfailure.OriginAttribute: {DataType: aws.String("String"), StringValue: &value}}
			})
			w.says(id, "nothing in it says where it came from")
		}
		w.says(other, "It can be received")
		if page := w.do("/dead-letters", nil).Body.String(); !strings.Contains(page, "<h2>3 of orders: no reason is known</h2>") {
			t.Errorf("the page believes what a message says:\n%s", page)
		}
	})
}

// A message in a dead-letter queue is a dead letter, also if it does not say where it came from.
func TestDeadLetters_AreAllOfTheirQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := w.send("dead", "by hand")
		w.says(id, "nothing in it says where it came from")
		w.shows("/dead-letters", "Replay all 1 of dead")
		if got := w.do("/queues/dead/replay", url.Values{}); got.Code != http.StatusSeeOther {
			t.Fatalf("the replay answers %d: %s", got.Code, got.Body)
		}
		if got := w.server.Snapshot()[1].Messages; len(got) != 1 || got[0].Body != "by hand" {
			t.Errorf("queue orders, whose dead-letter queue it is, has %+v", got)
		}
		w.create("more", map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, w.server.QueueARN("dead"))})
		w.send("dead", "whose")
		if page := w.do("/dead-letters", nil).Body.String(); !strings.Contains(page, "<h2>1: no reason is known</h2>") || strings.Contains(page, "<button>Replay") {
			t.Errorf("the page offers to replay a message to a queue that is not known:\n%s", page)
		}
	})
}

func TestBoard_CountsFaultsAndWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.must(w.server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Operation: "SendMessage", Times: 3}))
		w.send("orders", "a")
		w.send("orders", "b")
		page := w.do("/", nil).Body.String()
		for _, want := range []string{`SendMessage of queue orders had the fault &#34;latency&#34; <span class="note">2 times</span>`, "SendMessage: latency, 1 time more"} {
			if !strings.Contains(page, want) {
				t.Errorf("the board has no %q:\n%s", want, page)
			}
		}
	})
}

// The model has no time of its own: it must agree with the emulator after any history.
func TestModel_AgreesWithTheEmulator(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			w, r := newWorld(t), rand.New(rand.NewPCG(seed, 1))
			held := map[string][]types.Message{}
			for range 200 {
				queue := []string{"orders", "steps.fifo", "dead"}[r.IntN(3)]
				switch r.IntN(8) {
				case 0, 1, 2:
					w.send(queue, strconv.Itoa(r.IntN(50)), func(in *awssqs.SendMessageInput) {
						if queue == "steps.fifo" {
							in.MessageGroupId = aws.String(strconv.Itoa(r.IntN(3)))
						} else {
							in.DelaySeconds = int32(r.IntN(3) * 10)
						}
					})
				case 3, 4:
					held[queue] = append(held[queue], w.receive(queue)...)
				case 5:
					if n := len(held[queue]); n > 0 {
						i := r.IntN(n)
						_, _ = w.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: w.url(queue), ReceiptHandle: held[queue][i].ReceiptHandle})
						held[queue] = append(held[queue][:i], held[queue][i+1:]...)
					}
				case 6:
					if n := len(held[queue]); n > 0 {
						_, _ = w.client.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: w.url(queue), ReceiptHandle: held[queue][r.IntN(n)].ReceiptHandle, VisibilityTimeout: int32(r.IntN(4) * 20)})
					}
				case 7:
					switch r.IntN(10) {
					case 0:
						_, _ = w.client.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: w.url(queue)})
					case 1:
						w.do("/queues/dead/replay", url.Values{})
					case 2:
						_, _ = w.client.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{QueueUrl: w.url(queue), Attributes: map[string]string{"DelaySeconds": strconv.Itoa(r.IntN(2) * 30)}})
					case 3:
						if queue == "steps.fifo" {
							_, _ = w.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: w.url(queue)})
							time.Sleep(61 * time.Second) // before it may be created again
							w.create(queue, map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
						}
					}
					time.Sleep(time.Duration(r.IntN(40_000)) * time.Millisecond)
				}
				w.agrees(seed)
			}
			if seed%4 == 0 { // each costs as much as the history
				w.playsBack(seed)
			}
		})
	}
}

func (w *world) agrees(seed uint64) {
	w.t.Helper()
	snapshots, now := w.server.Snapshot(), time.Now()
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for _, s := range snapshots {
		q := w.c.model.queue(s.Name)
		if len(q.messages) != len(s.Messages) {
			w.t.Fatalf("seed %d: queue %s has %d messages, and the page %d", seed, s.Name, len(s.Messages), len(q.messages))
		}
		for _, m := range s.Messages {
			x := q.messages[m.MessageID]
			if x == nil {
				w.t.Fatalf("seed %d: the page has no message %s of queue %s", seed, m.MessageID, s.Name)
			}
			got := []string{visible: "visible", delayed: "delayed", inFlight: "in flight", gone: "gone"}[x.now(now)]
			if got != string(m.State) || x.received != m.ReceiveCount || m.State != sqs.MessageVisible && !x.due.Equal(m.VisibleAt) {
				w.t.Fatalf("seed %d: message %s is %s (%d receives, due %v), and on the page %s (%d, %v)", seed, m.MessageID, m.State, m.ReceiveCount, m.VisibleAt, got, x.received, x.due)
			}
		}
	}
}

func TestPages_HideBodiesAndEscapeEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const evil = `</pre><script>alert(1)</script>"'` + "\u202e"
		id := w.send("steps.fifo", evil, group(`<img/src=x>`))
		w.receive("steps.fifo")
		w.c.Event(track.Record{MessageID: id, Attempt: 1, Outcome: track.Retry, Reason: "<b>" + evil, Duration: -1, Allowed: -1, VisibleIn: -1, PanickedAt: "<i>"})
		w.c.Event(track.Warning{Text: evil, MessageID: id})
		w.c.Event(track.Started{Invocation: 1, RequestID: "r", MessageIDs: []string{id, "other"}})
		w.c.Event(track.Log{Invocation: 1, Text: evil + id})
		w.c.run.Lambda, w.c.run.Function, w.c.run.Timeout = true, "<f>", 10*time.Second
		shown := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: bodiesCookie, Value: "shown"}) }
		for _, path := range []string{"/", "/queues/steps.fifo", "/queues/steps.fifo?find=script&state=backoff", "/queues/steps.fifo?find=%3Cscript%3E&page=-5", "/messages/" + id, "/batches", "/batches?scale=timeout", "/dead-letters", "/nowhere<script>", "/messages/<script>"} {
			for _, with := range []func(*http.Request){func(*http.Request) {}, shown} {
				got := w.do(strings.ReplaceAll(path, "<script>", "%3Cscript%3E"), nil, with)
				page := got.Body.String()
				if got.Code >= 500 || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
					t.Errorf("%s answers %d: %s", path, got.Code, page)
				}
				for _, bad := range []string{"<script>", "<img", "<b>", "<i>", "<f>", "ZgotmplZ"} {
					if strings.Contains(page, bad) {
						t.Errorf("%s has %s in it", path, bad)
					}
				}
				if csp := got.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") {
					t.Errorf("%s has the Content-Security-Policy %q", path, csp)
				}
			}
		}
		if page := w.do("/messages/"+id, nil).Body.String(); strings.Contains(page, "&lt;/pre&gt;") && !strings.Contains(page, "bytes, hidden") {
			t.Error("the page shows the body unasked")
		}
		if page := w.do("/messages/"+id, nil, shown).Body.String(); !strings.Contains(page, "<pre>&lt;/pre&gt;&lt;script") {
			t.Error("the page does not show the body")
		}
	})
}

func TestMessage_HasWhatItCarries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shown := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: bodiesCookie, Value: "shown"}) }
		for body, want := range map[string]string{
			`{"Type":"Notification","TopicArn":"arn:topic","Message":"inner <text>"}`:                                                  "<dt>In the envelope of SNS, arn:topic</dt><dd><pre>inner &lt;text&gt;</pre>",
			`{"detail-type":"Placed","detail":{"id":1}}`:                                                                               "<dt>In the envelope of EventBridge, Placed</dt><dd><pre>{&#34;id&#34;:1}</pre>",
			`{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}]}`: "<dt>In the envelope of S3</dt><dd><pre>ObjectCreated:Put b/k</pre>",
			`{"Message":"none"}`: "<dt>Attribute tenant (String)</dt><dd>blue</dd>",
		} {
			id := w.send("orders", body, func(in *awssqs.SendMessageInput) {
				in.MessageAttributes = map[string]types.MessageAttributeValue{"tenant": {DataType: aws.String("String"), StringValue: aws.String("blue")}}
				in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")}}
			})
			page := w.do("/messages/"+id, nil, shown).Body.String()
			if !strings.Contains(page, want) || !strings.Contains(page, "Root=1-5759e988") || strings.Contains(page, "envelope") != strings.Contains(want, "envelope") {
				t.Errorf("the page of %s does not have %s:\n%s", body, want, page)
			}
			if page := w.do("/messages/"+id, nil).Body.String(); strings.Contains(page, "blue") || strings.Contains(page, "inner") {
				t.Errorf("the page shows what is hidden:\n%s", page)
			}
		}
	})
}

func TestForms_CheckWhatTheyGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		killed := 2
		w.c.run.Kill = func() int { return killed }
		for _, x := range []struct {
			path string
			form url.Values
			code int
			says string
		}{
			{"/queues/orders/send", url.Values{"body": {"n {n}"}, "count": {"25"}, "delay": {"5"}}, 303, ""},
			{"/queues/steps.fifo/send", url.Values{"body": {"x"}, "count": {"12"}, "group": {"g{n}"}}, 303, ""},
			{"/queues/orders/send", url.Values{"body": {"x"}, "count": {"0"}}, 400, "Copies is &#34;0&#34;; it must be a number from 1 to 10000"},
			{"/queues/orders/send", url.Values{"body": {"x"}, "delay": {"901"}}, 400, "from 0 to 900"},
			{"/queues/orders/send", url.Values{"body": {"x"}, "rate": {"1001"}}, 400, "Per second is &#34;1001&#34;; it must be a number from 1 to 1000"},
			{"/queues/orders/send", url.Values{"body": {"\x01"}}, 400, "queue orders refuses a message after 0 were sent"},
			{"/queues/none/send", url.Values{"body": {"x"}}, 400, "queue none refuses a message after 0 were sent"},
			{"/queues/none/purge", url.Values{}, 400, "not purged"},
			{"/queues/none/pause", url.Values{"paused": {"yes"}}, 404, "no queue"},
			{"/queues/orders/pause", url.Values{"paused": {"maybe"}}, 400, "must be yes or no"},
			{"/queues/orders/send", url.Values{"body": {"\xff"}}, 400, "is not UTF-8"},
			{"/faults", url.Values{"kind": {"latency"}, "times": {"0"}}, 400, "Times is &#34;0&#34;"},
			{"/queues/orders/pause", url.Values{"paused": {"yes"}}, 303, ""},
			{"/queues/orders/pause", url.Values{"paused": {"no"}}, 303, ""},
			{"/faults", url.Values{"kind": {"nonsense"}}, 400, "kind is"},
			{"/faults", url.Values{"kind": {"throttled"}, "operation": {"Nothing"}}, 400, "Fault.Operation"},
			{"/faults", url.Values{"kind": {"latency"}, "queue": {"orders"}, "times": {"3"}}, 303, ""},
			{"/faults", url.Values{"kind": {"duplicate"}, "operation": {"SendMessage"}}, 303, ""},
			{"/faults/clear", url.Values{}, 303, ""},
			{"/kill", url.Values{}, 303, ""},
			{"/bodies", url.Values{"bodies": {"shown"}, "back": {"//evil.example/"}}, 303, ""},
			{"/bodies", url.Values{"bodies": {"hidden"}, "back": {`/\evil.example`}}, 303, ""},
			{"/queues/orders/send", url.Values{"body": {strings.Repeat("x", 5<<20)}}, 400, "form is too large"},
		} {
			got := w.do(x.path, x.form)
			if got.Code != x.code || !strings.Contains(got.Body.String(), x.says) {
				t.Errorf("%s with %.80v answers %d, not %d: %.300s", x.path, x.form, got.Code, x.code, got.Body)
			}
			if to := got.Header().Get("Location"); x.code == 303 && to != "/" {
				t.Errorf("%s goes to %q", x.path, to)
			}
		}
		killed = 0
		if got := w.do("/kill", url.Values{}); got.Code != 400 {
			t.Errorf("killing nothing answers %d", got.Code)
		}
		if got := w.server.Queues(); got[1].Delayed != 25 || got[2].Visible != 12 {
			t.Errorf("the forms sent %+v", got)
		}
		if body := w.server.Snapshot()[1].Messages[24].Body; body != "n 25" {
			t.Errorf("the last message is %q", body)
		}
		if left := w.server.Faults(); left != nil {
			t.Errorf("the faults are %v", left)
		}
	})
}

func TestSend_KeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if got := w.do("/queues/orders/send", url.Values{"body": {"x"}, "count": {"100"}, "rate": {"10"}}); got.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", got.Code, got.Body)
		}
		time.Sleep(2*time.Second + time.Millisecond)
		if n := w.server.Queues()[1].Visible; n != 21 { // the first at once
			t.Errorf("after two seconds %d messages were sent, 10 a second", n)
		}
		w.do("/queues/none/send", url.Values{"body": {"x"}, "rate": {"10"}})
		synctest.Wait()
		if page := w.do("/", nil).Body.String(); !strings.Contains(page, "queue none refuses a message after 0 were sent") {
			t.Errorf("the board does not have the error:\n%s", page)
		}
		w.c.end()
		w.c.sending.Wait()
	})
}

func TestGuard_RefusesOtherPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for name, change := range map[string]func(*http.Request){
			"another host":    func(r *http.Request) { r.Host = "evil.example" },
			"another origin":  func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
			"another site":    func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"an unknown page": func(r *http.Request) { r.Header.Set("Origin", "null") },
		} {
			for _, form := range []url.Values{nil, {}} {
				if got := w.do("/faults/clear", form, change); got.Code != http.StatusForbidden {
					t.Errorf("%s answers %d", name, got.Code)
				}
			}
		}
	})
	for addr, want := range map[string]string{"0.0.0.0:0": "not a loopback address", "nonsense": "--ui=nonsense", "127.0.0.1:99999": "--ui=127.0.0.1:99999"} {
		if c, err := Listen(Options{Addr: addr}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--ui=%s gives the error %v", addr, err)
			_ = c.Close()
		}
	}
}

func TestModel_IsBounded(t *testing.T) {
	m := newModel()
	at := time.Unix(0, 0)
	body := strings.Repeat("x", 10_000)
	for i := range maxGone + 100 {
		id := strconv.Itoa(i)
		m.event(sqs.Event{Kind: sqs.Sent, Queue: "q", MessageID: id, Body: body, Time: at})
		for n := range maxSteps + 50 {
			if i > 3 {
				break
			}
			m.event(sqs.Event{Kind: sqs.Received, Queue: "q", MessageID: id, ReceiveCount: n, Time: at})
			m.tracked(track.Record{MessageID: id, Attempt: n, Reason: strings.Repeat("y", 10_000)}, at)
		}
		m.tracked(track.Started{Invocation: i, MessageIDs: []string{id}}, at)
		for range maxBatchLines + 5 {
			if i > 3 {
				break
			}
			m.tracked(track.Log{Invocation: i, Text: strings.Repeat("z", 10_000)}, at)
		}
		m.tracked(track.Warning{Text: "w", MessageID: id}, at)
		if i < 4 {
			x, b := m.messages[id], m.byNumber[i]
			if len(x.steps) != maxSteps || x.steps[0].kind != sqs.Sent || len(x.attempts) != maxAttempts || len(x.attempts[0].Reason) > maxLine+len("…") {
				t.Errorf("a message has %d steps and %d attempts", len(x.steps), len(x.attempts))
			}
			if len(b.lines) != maxBatchLines || b.linesLeft != 5 || len(b.lines[0]) > maxLine+len("…") {
				t.Errorf("an invocation has %d lines, and %d more", len(b.lines), b.linesLeft)
			}
		}
		m.event(sqs.Event{Kind: sqs.Deleted, Queue: "q", MessageID: id, Time: at})
	}
	if len(m.messages) != len(m.gone) || m.bytes > maxGoneBytes || len(m.gone) > maxGone || len(m.batches) != maxBatches || len(m.byNumber) != maxBatches || len(m.warnings) != maxSteps {
		t.Errorf("the model has %d messages, %d gone with %d bytes, %d batches, %d warnings", len(m.messages), len(m.gone), m.bytes, len(m.batches), len(m.warnings))
	}
}

func TestSlots_AreThoseOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.c.run.Function = "f"
		w.c.Event(track.Process{Change: track.Change{Process: 1, PID: 11}})
		w.c.Event(track.Process{Change: track.Change{Process: 2, PID: 22}})
		w.c.Event(track.Process{Change: track.Change{Process: 2, PID: 22, Ended: "exit status 1"}})
		for i := range 4 {
			id := w.send("orders", strconv.Itoa(i))
			time.Sleep(time.Second)
			w.c.Event(track.Record{MessageID: id, Process: 1 + i/3, Attempt: 1, Outcome: track.Succeeded, Duration: 1500 * time.Millisecond, Allowed: -1, VisibleIn: -1})
		}
		w.receive("orders")
		time.Sleep(time.Second)
		w.c.Event(track.Record{MessageID: w.server.Snapshot()[1].Messages[0].MessageID, Process: 2, Attempt: 1, Outcome: track.CutOff, Duration: -1, Allowed: -1, VisibleIn: -1})
		w.shows("/slots", "cut-off after 1s")
		page := w.do("/slots", nil).Body.String()
		if n := strings.Count(page, `class="bar"`); n != 5 || !strings.Contains(page, "Process 1, pid 11") || !strings.Contains(page, "Process 2, which has ended") {
			t.Errorf("the page has %d bars:\n%s", n, page)
		}
		if !strings.Contains(page, `viewBox="0 0 100 16"`) { // two overlap at a time
			t.Errorf("the records of process 1 are not in two slots:\n%s", page)
		}
		time.Sleep(time.Minute + time.Second)
		if page := w.do("/slots", nil).Body.String(); strings.Contains(page, `class="bar"`) || !strings.Contains(page, "nothing in the last minute") {
			t.Errorf("the records are still there:\n%s", page)
		}
	})
}

func TestServe_TellsOfChanges(t *testing.T) {
	c, err := Listen(Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	server := sqs.New(sqs.Config{Observe: c.Observe(nil), ObserveCall: c.ObserveCall(nil)})
	defer server.Close()
	c.Serve(Run{Server: server})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+"changes", nil)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func() (n int) {
		for lines.Scan() {
			if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &n) == nil {
				return n
			}
		}
		return -1
	}
	if n := next(); n != 1 {
		t.Errorf("the first event has version %d", n)
	}
	for range 5 {
		c.Event(track.Warning{Text: "w"})
	}
	if n := next(); n != 6 {
		t.Errorf("the event after five changes has version %d", n)
	}
	if err := c.Close(); err != nil { // although a browser reads
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	none, err := Listen(Options{})
	none.Event(nil)
	none.Serve(Run{})
	if err != nil || none != nil || none.Observe(nil) != nil || none.ObserveCall(nil) != nil || none.Close() != nil || none.URL() != "" {
		t.Error("no console does something")
	}
}
