package sqs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// TestHistories makes random calls from up to four clients at once, in virtual time. Porcupine
// looks for an order of the calls that the model explains, within the time that each of them
// took: every message, time, refusal and count. A history without one is printed.
//
//	go test ./emulator/sqs -run '^TestHistories$' -count=1 -v -args -seed=7 -histories=10000
func TestHistories(t *testing.T) {
	random.Histories{Few: 100, Many: 5000, AtOnce: 2, Enough: 100, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		if wrong := drawHistory(seed).find(t, nil, seen); wrong != "" {
			t.Error(wrong)
		}
	}}.Check(t)
}

// history is a random history: its queues and its clients.
type history struct {
	rules
	seed           uint64
	clients, calls int  // calls of each client
	moves          bool // message move tasks; otherwise, long polls of the dead-letter queue
}

func drawHistory(seed uint64) *history {
	r := random.New(seed, 0)
	h := &history{seed: seed, clients: random.Pick(r, 1, 2, 4, 4)}
	h.calls = 60 / h.clients
	h.fifo, h.maxReceives = r.OneIn(2), 1+r.IntN(3)
	if h.anyOrder = !h.fifo && r.OneIn(3); h.anyOrder {
		h.maxReceives = 1000
	}
	h.moves = r.OneIn(2)
	h.delay = random.Pick(r, 0, 0, 5*time.Second)
	h.retain = random.Pick(r, 90*time.Second, time.Hour)
	return h
}

// A sending, settling, answered or received is one message in a call or an answer.
type (
	sending struct {
		body, group, deduplicationID string
		delay                        time.Duration // negative: the queue's
	}
	settling struct {
		handle     string
		visibility time.Duration
	}
	answered struct{ code, messageID, sequence string }
	received struct {
		body, handle string
		sent         int64 // in milliseconds since the history began
		receives     int
	}
	counts struct{ visible, inFlight, delayed int }
)

// effect is a call with its answer, as the model sees it: it takes effect at one instant. A long
// poll has two effects: "wait" when it begins, "receive" when it ends.
type effect struct {
	do           string
	dead         bool // of the dead-letter queue
	client, poll int  // the long poll's number, 0 for none
	began, at    time.Duration
	ends         time.Duration // of "wait"
	batch        bool
	sends        []sending
	settles      []settling
	max          int
	visibility   time.Duration
	wait         time.Duration
	attempt      string

	code    string
	answers []answered
	got     []received
	counts  counts
	gone    bool // the client left before the answer

	called, returned int64 // stamps that order the calls' beginnings and ends
}

// caller makes a call to the server. Without an answer, because ctx is done, answer is nil.
type caller func(ctx context.Context, operation string, in map[string]any) (answer map[string]any, code string)

// world is what the clients of a history share.
type world struct {
	*history
	call  caller
	start time.Time
	stamp atomic.Int64
	urls  map[bool]string
	arn   string // of the dead-letter queue

	mu      sync.Mutex
	effects []effect
	handles []givenHandle
	bodies  int
}

type givenHandle struct {
	handle string
	dead   bool
}

// find carries out the history, on a server that broken, if it is not nil, makes wrong. It returns the history if no order of the calls explains it, or "".
func (h *history) find(t *testing.T, broken mutant, seen random.Seen) (wrong string) {
	var all []effect
	synctest.Test(t, func(t *testing.T) {
		config := sqs.Config{Seed: h.seed}
		if h.anyOrder {
			config.Faults = []sqs.Fault{{Kind: sqs.OutOfOrder, Probability: 0.5}}
		}
		server := newServer(t, config)
		w := &world{history: h, start: time.Now(), call: func(ctx context.Context, operation string, in map[string]any) (answer map[string]any, code string) {
			body, _ := json.Marshal(in)
			r, rec := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(string(body))), httptest.NewRecorder()
			r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
			server.ServeHTTP(rec, r)
			if rec.Header().Get("X-Amzn-Requestid") == "" {
				return nil, ""
			}
			answer = map[string]any{}
			_ = json.Unmarshal(rec.Body.Bytes(), &answer)
			code, _, _ = strings.Cut(rec.Header().Get("X-Amzn-Query-Error"), ";")
			return answer, code
		}}
		if broken != nil {
			w.call = broken(w.call)
		}
		w.create(server)
		var clients sync.WaitGroup
		for i := range h.clients {
			clients.Go(func() {
				c := &client{world: w, Rand: random.New(h.seed, uint64(i+1)), number: i}
				for range h.calls {
					c.step()
				}
			})
		}
		clients.Wait()
		all = w.effects
	})
	count(seen, h, all)
	var operations []porcupine.Operation
	for _, e := range all {
		operations = append(operations, porcupine.Operation{ClientId: e.client, Input: e, Call: e.called, Return: e.returned})
	}
	result, info := porcupine.CheckOperationsVerbose(h.linearizable(), operations, time.Minute)
	if result == porcupine.Ok {
		return ""
	}
	return h.describe(string(result), all, info)
}

func (w *world) create(server *sqs.Server) {
	attributes, suffix := map[string]string{"MessageRetentionPeriod": seconds(w.retain)}, ""
	if w.fifo {
		suffix, attributes["FifoQueue"] = ".fifo", "true"
	}
	w.urls = map[bool]string{false: server.QueueURL("orders" + suffix), true: server.QueueURL("dead" + suffix)}
	w.arn = server.QueueARN("dead" + suffix)
	w.call(context.Background(), "CreateQueue", map[string]any{"QueueName": "dead" + suffix, "Attributes": attributes})
	attributes["DelaySeconds"], attributes["RedrivePolicy"] = seconds(w.delay), redrivePolicy(w.arn, w.maxReceives)
	w.call(context.Background(), "CreateQueue", map[string]any{"QueueName": "orders" + suffix, "Attributes": attributes})
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// client makes one call after another. Its pauses are multiples of half a second, so that
// clients often call at the same instant.
type client struct {
	*world
	random.Rand
	number int
}

func (c *client) step() {
	time.Sleep(random.Pick[time.Duration](c, 0, 0, 0, 1, 2, 4, 10, 40, random.Sometimes[time.Duration](c, 4, 120, 598, 600)) * time.Second / 2)
	if e := c.draw(); len(e.sends)+len(e.settles) > 0 || e.do != "send" && e.do != "delete" && e.do != "hide" {
		c.make(e)
	}
}

func (c *client) draw() effect {
	e := effect{client: c.number, dead: c.OneIn(4), max: 1 + c.IntN(5), visibility: c.timeout()}
	e.do = random.Pick(c, "send", "send", "send", "receive", "receive", "receive", "delete", "hide", "hide", "count", "move", random.Pick(c, "count", "purge"))
	if e.do == "move" && !c.moves {
		e.do = "receive"
	}
	n := 1
	if e.batch = c.OneIn(3); e.batch {
		n = 1 + c.IntN(4)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		switch e.do {
		case "send":
			c.bodies++
			s := sending{body: fmt.Sprint("m", c.bodies), delay: -1}
			if c.fifo {
				s.group, s.deduplicationID = random.Pick(c, "g", "h"), fmt.Sprint("d", c.IntN(40))
			} else if c.OneIn(4) {
				s.delay = c.timeout()
			}
			e.sends, e.dead = append(e.sends, s), false
		case "delete", "hide":
			if len(c.handles) > 0 { // often a late one
				late := c.handles[max(0, len(c.handles)-random.Pick(c, 5, 50)):]
				given := random.Pick(c, late...)
				if len(e.settles) > 0 && given.dead != e.dead {
					continue
				}
				e.settles, e.dead = append(e.settles, settling{given.handle, c.timeout()}), given.dead
			}
		case "receive":
			e.batch = false
			switch {
			case e.dead && c.moves:
			case !e.dead && c.fifo && e.wait == 0 && c.OneIn(3):
				e.attempt = random.Pick(c, "a", "b")
			case e.attempt == "" && c.OneIn(2):
				e.wait = time.Duration(1+c.IntN(20)) * time.Second
			}
		default:
			e.batch = false
		}
	}
	return e
}

// timeout draws a visibility timeout or a delay.
func (c *client) timeout() time.Duration {
	return random.Pick(c, 0, 1, 2, time.Duration(c.IntN(40))) * time.Second
}

// request returns the operation of a call and its parameters.
func (c *client) request(e effect) (operation string, in map[string]any) {
	in = map[string]any{"QueueUrl": c.urls[e.dead]}
	var entries []map[string]any
	switch e.do {
	case "send":
		operation = "SendMessage"
		for _, s := range e.sends {
			entry := map[string]any{"MessageBody": s.body}
			if c.fifo {
				entry["MessageGroupId"], entry["MessageDeduplicationId"] = s.group, s.deduplicationID
			} else if s.delay >= 0 {
				entry["DelaySeconds"] = whole(s.delay)
			}
			entries = append(entries, entry)
		}
	case "receive":
		operation, in["MaxNumberOfMessages"], in["VisibilityTimeout"] = "ReceiveMessage", e.max, whole(e.visibility)
		in["WaitTimeSeconds"], in["MessageSystemAttributeNames"] = whole(e.wait), []string{"All"}
		if e.attempt != "" {
			in["ReceiveRequestAttemptId"] = e.attempt
		}
	case "delete", "hide":
		operation = map[string]string{"delete": "DeleteMessage", "hide": "ChangeMessageVisibility"}[e.do]
		for _, s := range e.settles {
			entry := map[string]any{"ReceiptHandle": s.handle}
			if e.do == "hide" {
				entry["VisibilityTimeout"] = whole(s.visibility)
			}
			entries = append(entries, entry)
		}
	case "purge":
		operation = "PurgeQueue"
	case "move":
		operation, in = "StartMessageMoveTask", map[string]any{"SourceArn": c.arn, "MaxNumberOfMessagesPerSecond": int(time.Second / moveInterval)}
	case "count":
		operation, in["AttributeNames"] = "GetQueueAttributes", []string{"All"}
	}
	switch {
	case e.batch:
		for i, entry := range entries {
			entry["Id"] = strconv.Itoa(i)
		}
		return operation + "Batch", map[string]any{"QueueUrl": in["QueueUrl"], "Entries": entries}
	case len(entries) > 0:
		maps.Copy(in, entries[0])
	}
	return operation, in
}

func whole(d time.Duration) int { return int(d / time.Second) }

// make makes a call and notes its effects.
func (c *client) make(e effect) {
	operation, in := c.request(e)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if e.wait > 0 && c.OneIn(4) { // the client leaves
		stop := time.AfterFunc(time.Duration(1+c.IntN(whole(2*e.wait)))*time.Second/2, cancel)
		defer stop.Stop()
	}
	e.called, e.began = c.stamp.Add(1), time.Since(c.start)
	c.yield()
	answer, code := c.call(ctx, operation, in)
	c.yield()
	e.returned, e.at, e.code, e.gone = c.stamp.Add(1), time.Since(c.start), code, answer == nil
	e.read(c, answer)
	if e.wait > 0 {
		e.poll = int(e.called)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, got := range e.got {
		c.handles = append(c.handles, givenHandle{got.handle, e.dead})
	}
	c.effects = append(c.effects, e)
	if e.poll > 0 {
		e.do, e.at, e.ends = "wait", e.began, e.at
		c.effects = append(c.effects, e)
	}
}

// yield lets other clients call meanwhile.
func (c *client) yield() {
	for range c.IntN(3) {
		runtime.Gosched()
	}
}

// read reads the answer of a call.
func (e *effect) read(c *client, answer map[string]any) {
	text := func(from any, name string) string {
		value, _ := from.(map[string]any)[name].(string)
		return value
	}
	entry := func(from any, code string) answered {
		return answered{code, text(from, "MessageId"), text(from, "SequenceNumber")}
	}
	list := func(name string) []any {
		all, _ := answer[name].([]any)
		return all
	}
	switch e.do {
	case "send", "delete", "hide":
		if e.answers = make([]answered, len(e.sends)+len(e.settles)); !e.batch {
			e.answers[0] = entry(answer, e.code)
		}
		for _, one := range append(list("Successful"), list("Failed")...) {
			at, _ := strconv.Atoi(text(one, "Id"))
			e.answers[at] = entry(one, text(one, "Code"))
		}
	case "receive":
		for _, one := range list("Messages") {
			attributes := one.(map[string]any)["Attributes"]
			sent, _ := strconv.ParseInt(text(attributes, "SentTimestamp"), 10, 64)
			receives, _ := strconv.Atoi(text(attributes, "ApproximateReceiveCount"))
			e.got = append(e.got, received{text(one, "Body"), text(one, "ReceiptHandle"), sent - c.start.UnixMilli(), receives})
		}
	case "count":
		number := func(name string) int {
			n, _ := strconv.Atoi(text(answer["Attributes"], "ApproximateNumberOfMessages"+name))
			return n
		}
		e.counts = counts{number(""), number("NotVisible"), number("Delayed")}
	}
}

// describe returns the calls in order of their beginning. Those that no order explains are marked.
func (h *history) describe(result string, all []effect, info porcupine.LinearizationInfo) string {
	explained := map[int]bool{}
	for _, partial := range info.PartialLinearizations() {
		for _, order := range partial {
			if len(order) > len(explained) {
				explained = map[int]bool{}
				for _, at := range order {
					explained[at] = true
				}
			}
		}
	}
	var lines []string
	for i, e := range all {
		mark := " "
		if !explained[i] {
			mark = "*"
		}
		lines = append(lines, fmt.Sprintf("%5d %5d %s %v", e.called, e.returned, mark, e))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%s: %+v: no order of these calls explains the answers to those with a *. First are the stamps of each call's beginning and end:\n%s",
		result, h.rules, strings.Join(lines, "\n"))
}

func (e effect) String() string {
	queue := "orders"
	if e.dead {
		queue = "dead"
	}
	text := fmt.Sprintf("%v client %d %s %s", e.at, e.client, e.do, queue)
	switch e.do {
	case "send":
		return fmt.Sprintf("%s %+v: %+v", text, e.sends, e.answers)
	case "receive", "wait":
		return fmt.Sprintf("%s up to %d for %v, attempt %q, waits %v since %v: %+v gone %v", text, e.max, e.visibility, e.attempt, e.wait, e.began, e.got, e.gone)
	case "delete", "hide":
		return fmt.Sprintf("%s %+v: %+v", text, e.settles, e.answers)
	case "count":
		return fmt.Sprintf("%s: %+v", text, e.counts)
	}
	return text + ": " + e.code
}

// count notes what occurred in a history.
func count(seen random.Seen, h *history, all []effect) {
	for _, e := range all {
		seen.Saw(fmt.Sprintf("%s, FIFO %v, batch %v", e.do, h.fifo, e.batch), true)
		seen.Saw("messages received twice at least", slices.ContainsFunc(e.got, func(g received) bool { return g.receives > 1 }))
		seen.Saw("dead letters received", e.dead && len(e.got) > 0)
		seen.Saw("clients that left", e.gone)
		seen.Saw("refusals", e.code != "")
		seen.Saw("long polls that waited for messages", e.do == "receive" && e.at > e.began && len(e.got) > 0)
		for _, other := range all {
			seen.Saw("calls at once", e.client < other.client && e.called < other.returned && other.called < e.returned)
		}
	}
}
