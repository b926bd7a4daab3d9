package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// side is a server in a sequence: emulator/sqs or the one that is compared with it.
type side struct {
	client      *http.Client
	url         string // the server's
	queue, dead string // URLs
	deadARN     string
	handles     map[receipt]string
	receives    map[string]int // of each body
}

// receipt names one receive of a message, the same on both sides.
type receipt struct {
	body string
	n    int // counted from 1
}

// call returns the answer of an operation, or the name of the error's type.
func (s *side) call(ctx context.Context, operation string, in map[string]any) (answer map[string]any, refusal string) {
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(must.Get(json.Marshal(in)))))
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
	// Servers for several services find out by it which one is meant.
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0")
	res := must.Get(s.client.Do(req))
	defer func() { _ = res.Body.Close() }()
	var text bytes.Buffer
	must.Get(text.ReadFrom(res.Body))
	answer = map[string]any{}
	if err := json.Unmarshal(text.Bytes(), &answer); err != nil && text.Len() > 0 {
		answer["__type"] = fmt.Sprintf("status %d without JSON", res.StatusCode)
	}
	if res.StatusCode == http.StatusOK {
		return answer, ""
	}
	code, _, _ := strings.Cut(res.Header.Get("X-Amzn-Query-Error"), ";") // SDKs prefer it
	code = cmp.Or(code, str(answer, "__type"), "no type")
	return nil, strings.TrimSuffix(code[strings.LastIndexAny(code, "#.")+1:], "Exception")
}

func str(m map[string]any, name string) string { s, _ := m[name].(string); return s }

// sequence makes the same random calls to two servers until their answers differ.
type sequence struct {
	random.Rand
	ctx      context.Context
	name     string   // of the queues
	sides    [2]*side // emulator/sqs is the first
	fifo     bool
	most     int // maxReceiveCount
	replays  int
	known    map[string]bool // labels of calls that are known to differ: most are left out
	sent     []string        // bodies
	received []receipt
	fate     map[string]string // of each received message: in flight, visible, deleted
}

// A step is a call that means the same on both sides.
type step struct {
	label string
	// looks is true for calls that show the effects of others.
	looks bool
	// outcome makes the call, and returns the answer in words: an error's type, or "" with what came.
	outcome func(s *side) (refusal, got string)
	// note tells the sequence what the first side answered; nil: nothing to tell.
	note func()
}

// create makes the queues anew.
func (q *sequence) create() {
	q.replays++
	attributes, suffix := map[string]string{"VisibilityTimeout": "600"}, ""
	if q.fifo {
		suffix, attributes["FifoQueue"] = ".fifo", "true"
	}
	for _, s := range q.sides {
		s.handles, s.receives = map[receipt]string{}, map[string]int{}
		create := func(kind string, attributes map[string]string) string {
			in := map[string]any{"QueueName": fmt.Sprint(q.name, "-", q.replays, kind, suffix), "Attributes": attributes}
			answer, refusal := s.call(q.ctx, "CreateQueue", in)
			for range 9 { // moto fails sometimes, if others create queues at the same time
				if refusal != "" {
					answer, refusal = s.call(q.ctx, "CreateQueue", in)
				}
			}
			if refusal != "" {
				must.Failf("%s: CreateQueue: %s", s.url, refusal)
			}
			return str(answer, "QueueUrl")
		}
		s.dead = create("-dead", attributes)
		answer, _ := s.call(q.ctx, "GetQueueAttributes", map[string]any{"QueueUrl": s.dead, "AttributeNames": []string{"QueueArn"}})
		arns, _ := answer["Attributes"].(map[string]any)
		s.deadARN = str(arns, "QueueArn")
		own := maps.Clone(attributes)
		own["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, s.deadARN, q.most)
		s.queue = create("", own)
	}
}

// run makes up to n calls, and returns those up to the first that is answered differently, none if
// there is none. Calls that are not necessary for the difference are left out.
func (q *sequence) run(n int) (made []step, how string) {
	q.fifo, q.most, q.fate = q.OneIn(2), random.Pick(q, 1, 2, 1000), map[string]string{}
	q.create()
	for range n {
		s := q.draw()
		if q.known[s.label] && !q.OneIn(8) {
			continue
		}
		made = append(made, s)
		if how := q.differ(s); how != "" {
			return q.shorten(made, how), how
		}
		if s.note != nil {
			s.note()
		}
	}
	return nil, ""
}

// differ makes a call to both sides. It returns how the answers differ, or "".
func (q *sequence) differ(s step) string {
	ourRefusal, ours := s.outcome(q.sides[0])
	theirRefusal, theirs := s.outcome(q.sides[1])
	switch {
	case ourRefusal != theirRefusal:
		return cmp.Or(theirRefusal, "success") + ", not " + cmp.Or(ourRefusal, "success")
	case ours != theirs:
		return fmt.Sprintf("%q, not %q", theirs, ours)
	}
	return ""
}

// shorten leaves out calls as long as the last one is the first to be answered differently, and
// in the same way. It returns nil if the difference does not come again.
func (q *sequence) shorten(made []step, how string) []step {
	again := func(made []step) bool {
		q.create()
		for i, s := range made {
			if now := q.differ(s); now != "" {
				return i == len(made)-1 && (now == how || otherContent(now) && otherContent(how))
			}
		}
		return false
	}
	if !again(made) {
		return nil
	}
	for i := len(made) - 2; i >= 0; i-- {
		if shorter := slices.Concat(made[:i], made[i+1:]); again(shorter) {
			made = shorter
		}
	}
	return made
}

// otherContent reports whether both sides succeeded, with different answers.
func otherContent(how string) bool { return strings.HasPrefix(how, `"`) }

// cause returns the label of the call whose answer, or else whose effect, differs, and how.
func cause(made []step, how string) (label, differs string) {
	last := made[len(made)-1]
	if !otherContent(how) {
		return last.label, how
	}
	if !last.looks && !strings.HasPrefix(last.label, "ReceiveMessage") {
		return last.label, strings.NewReplacer(`""`, "success", `"`, "").Replace(how)
	}
	for _, s := range slices.Backward(made[:len(made)-1]) {
		if !s.looks {
			return s.label, "another effect"
		}
	}
	return last.label, "another answer"
}

func (q *sequence) kind() string { return map[bool]string{true: "FIFO", false: "standard"}[q.fifo] }

func (q *sequence) draw() step {
	switch q.IntN(12) {
	case 0, 1:
		return q.send()
	case 2:
		return q.sendBatch()
	case 3, 4, 5:
		return q.receive()
	case 6, 7, 8:
		return q.settle()
	case 9:
		return q.settleBatch()
	case 10:
		return q.counts()
	}
	return random.Pick(q, q.purge, q.move, q.delayed, q.attribute)()
}

// message draws the parameters of a message, and what is special about it.
func (q *sequence) message() (in map[string]any, special string) {
	body := fmt.Sprint("m", len(q.sent))
	in = map[string]any{"MessageBody": body}
	if q.fifo {
		in["MessageGroupId"], in["MessageDeduplicationId"] = random.Pick(q, "g", "g", "h"), body
		if len(q.sent) > 0 && q.OneIn(5) {
			in["MessageDeduplicationId"], special = random.Pick(q, q.sent...), " of a duplicate"
		}
	} else if q.OneIn(8) {
		in["MessageGroupId"], special = "g", " with a group"
	}
	q.sent = append(q.sent, body)
	return in, special
}

func (q *sequence) send() step {
	in, special := q.message()
	switch n := q.IntN(12); {
	case n == 0 && q.fifo:
		delete(in, "MessageGroupId")
		special = " without a group"
	case n == 1 && q.fifo:
		delete(in, "MessageDeduplicationId")
		special = " without a deduplication id"
	case n == 2:
		in["DelaySeconds"], special = 600, " with a delay of its own"
	}
	return q.plain("SendMessage of a "+q.kind()+" queue"+special, "SendMessage", special == "", in)
}

func (q *sequence) sendBatch() step {
	var entries []map[string]any
	var all string
	for i := range 1 + q.IntN(3) {
		in, special := q.message()
		in["Id"] = strconv.Itoa(i)
		if special != "" && !strings.Contains(all, special) {
			all += special
		}
		entries = append(entries, in)
	}
	if q.OneIn(4) {
		delete(entries[0], "MessageBody")
		all = " without a body"
	}
	return q.plain("SendMessageBatch of a "+q.kind()+" queue"+all, "SendMessageBatch", all == "", map[string]any{"Entries": entries})
}

// plain is a call to the queue with the same parameters on both sides.
func (q *sequence) plain(label, operation string, looks bool, in map[string]any) step {
	return step{label: label, looks: looks, outcome: func(s *side) (refusal, got string) {
		in["QueueUrl"] = s.queue
		answer, refusal := s.call(q.ctx, operation, in)
		return refusal, failures(answer)
	}}
}

// failures returns the entries of a batch that failed.
func failures(answer map[string]any) string {
	var failed []string
	list, _ := answer["Failed"].([]any)
	for _, one := range list {
		e, _ := one.(map[string]any)
		failed = append(failed, strings.TrimSuffix(str(e, "Code"), "Exception"))
	}
	slices.Sort(failed)
	return strings.Join(slices.Compact(failed), ", ")
}

// receive receives all messages. Their order is compared in each group of a FIFO queue.
func (q *sequence) receive() step {
	dead, visibility := q.OneIn(4), random.Pick(q, 600, 600, 0)
	what := map[bool]string{true: inDead}[dead] + map[int]string{0: ", a visibility timeout of 0"}[visibility]
	var came []receipt
	outcome := func(s *side) (refusal, got string) {
		came = nil
		in := map[string]any{"QueueUrl": s.queue, "MaxNumberOfMessages": 10, "VisibilityTimeout": visibility, "MessageSystemAttributeNames": []string{"All"}}
		if dead {
			in["QueueUrl"] = s.dead
		}
		var all []string
		for range map[bool]int{true: 1, false: 5}[visibility == 0] {
			answer, refusal := s.call(q.ctx, "ReceiveMessage", in)
			if refusal != "" {
				return refusal, ""
			}
			list, _ := answer["Messages"].([]any)
			if len(list) == 0 {
				break
			}
			for _, one := range list {
				m, _ := one.(map[string]any)
				attributes, _ := m["Attributes"].(map[string]any)
				body := str(m, "Body")
				s.receives[body]++
				r := receipt{body, s.receives[body]}
				s.handles[r] = str(m, "ReceiptHandle")
				came = append(came, r)
				all = append(all, fmt.Sprintf("%s %s after %s receives", str(attributes, "MessageGroupId"), body, str(attributes, "ApproximateReceiveCount")))
			}
		}
		if q.fifo {
			slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(a[:1], b[:1]) })
		} else {
			slices.Sort(all)
		}
		return "", strings.Join(all, ", ")
	}
	return step{label: "ReceiveMessage of a " + q.kind() + " queue" + strings.TrimPrefix(what, inDead), looks: visibility > 0, outcome: outcome, note: func() {
		for _, r := range came {
			q.received = append(q.received, r)
			q.fate[r.body] = map[int]string{0: "visible", 600: "in flight"}[visibility] + map[bool]string{true: inDead}[dead]
		}
	}}
}

const (
	inDead = " in the dead-letter queue"
	over   = "a receipt handle that is over"
)

// handle draws a receipt handle of the source queue.
func (q *sequence) handle() (r receipt, what string) {
	if len(q.received) == 0 {
		return receipt{}, "no receipt handle"
	}
	r = q.received[len(q.received)-1-q.IntN(min(len(q.received), random.Pick(q, 3, 30)))]
	fate, dead := strings.CutSuffix(q.fate[r.body], inDead)
	switch {
	case slices.ContainsFunc(q.received, func(other receipt) bool { return other.body == r.body && other.n > r.n }):
		what = over
	case fate == "in flight":
		what = "a message in flight"
	default:
		what = over
	}
	return r, what + map[bool]string{true: inDead}[dead]
}

func (q *sequence) settle() step {
	r, what := q.handle()
	if r.n == 0 {
		return q.counts()
	}
	if q.OneIn(2) {
		q.settled(r, what, "deleted")
		return step{label: fmt.Sprintf("DeleteMessage of a %s queue, %s", q.kind(), strings.TrimSuffix(what, inDead)), outcome: func(s *side) (refusal, got string) {
			_, refusal = s.call(q.ctx, "DeleteMessage", map[string]any{"QueueUrl": s.of(what), "ReceiptHandle": s.handles[r]})
			return refusal, ""
		}}
	}
	seconds := random.Pick(q, 0, 600)
	q.settled(r, what, map[int]string{0: "visible", 600: "in flight"}[seconds])
	return step{label: fmt.Sprintf("ChangeMessageVisibility of a %s queue, %s", q.kind(), strings.TrimSuffix(what, inDead)), outcome: func(s *side) (refusal, got string) {
		_, refusal = s.call(q.ctx, "ChangeMessageVisibility", map[string]any{"QueueUrl": s.of(what), "ReceiptHandle": s.handles[r], "VisibilityTimeout": seconds})
		return refusal, ""
	}}
}

// of returns the queue in which a message is.
func (s *side) of(what string) string {
	if strings.HasSuffix(what, inDead) {
		return s.dead
	}
	return s.queue
}

// settled notes what becomes of a message that is in flight. A handle that has no effect changes nothing.
func (q *sequence) settled(r receipt, what, fate string) {
	if in, ok := strings.CutPrefix(what, "a message in flight"); ok {
		q.fate[r.body] = fate + in
	}
}

func (q *sequence) settleBatch() step {
	operation := random.Pick(q, "DeleteMessageBatch", "ChangeMessageVisibilityBatch")
	var list []receipt
	label := "messages in flight"
	for range 1 + q.IntN(3) {
		r, what := q.handle()
		if r.n == 0 || strings.Contains(what, "dead-letter") || slices.Contains(list, r) {
			continue
		}
		q.settled(r, what, map[bool]string{true: "deleted", false: "visible"}[operation == "DeleteMessageBatch"])
		if list = append(list, r); what != "a message in flight" {
			label = "some receipt handles that are over"
		}
	}
	if len(list) == 0 {
		return q.counts()
	}
	return step{label: fmt.Sprintf("%s of a %s queue, %s", operation, q.kind(), label), outcome: func(s *side) (refusal, got string) {
		var entries []map[string]any
		for i, r := range list {
			e := map[string]any{"Id": strconv.Itoa(i), "ReceiptHandle": s.handles[r]}
			if operation == "ChangeMessageVisibilityBatch" {
				e["VisibilityTimeout"] = 0
			}
			entries = append(entries, e)
		}
		answer, refusal := s.call(q.ctx, operation, map[string]any{"QueueUrl": s.queue, "Entries": entries})
		return refusal, failures(answer)
	}}
}

var countNames = []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"}

func (q *sequence) counts() step {
	what, dead := "the counts of messages", q.OneIn(3)
	return step{label: fmt.Sprintf("GetQueueAttributes of a %s queue, %s", q.kind(), what), looks: true, outcome: func(s *side) (refusal, got string) {
		url := s.queue
		if dead {
			url = s.dead
		}
		answer, refusal := s.call(q.ctx, "GetQueueAttributes", map[string]any{"QueueUrl": url, "AttributeNames": countNames})
		attributes, _ := answer["Attributes"].(map[string]any)
		return refusal, fmt.Sprint(attributes)
	}}
}

func (q *sequence) purge() step {
	for body, fate := range q.fate {
		if !strings.HasSuffix(fate, inDead) {
			q.fate[body] = "purged"
		}
	}
	return q.plain("PurgeQueue of a "+q.kind()+" queue", "PurgeQueue", false, map[string]any{})
}

// move starts a message move task, and waits until the dead-letter queue has no visible messages.
func (q *sequence) move() step {
	return step{label: "StartMessageMoveTask of a " + q.kind() + " queue", outcome: func(s *side) (refusal, got string) {
		_, refusal = s.call(q.ctx, "StartMessageMoveTask", map[string]any{"SourceArn": s.deadARN})
		time.Sleep(time.Second)
		return refusal, ""
	}}
}

// delayed lets a visibility timeout of a second end.
func (q *sequence) delayed() step {
	r, what := q.handle()
	if !strings.HasPrefix(what, "a message in flight") {
		return q.counts()
	}
	q.settled(r, what, "visible")
	return step{label: fmt.Sprintf("ChangeMessageVisibility of a %s queue to a second that passes", q.kind()), outcome: func(s *side) (refusal, got string) {
		_, refusal = s.call(q.ctx, "ChangeMessageVisibility", map[string]any{"QueueUrl": s.of(what), "ReceiptHandle": s.handles[r], "VisibilityTimeout": 1})
		time.Sleep(1500 * time.Millisecond)
		return refusal, ""
	}}
}

func (q *sequence) attribute() step {
	name := random.Pick(q, "VisibilityTimeout", "DelaySeconds", "ReceiveMessageWaitTimeSeconds", "MessageRetentionPeriod", "MaximumMessageSize")
	value := random.Pick(q, "", "x")
	return q.plain(fmt.Sprintf("SetQueueAttributes, %q for a number", value), "SetQueueAttributes", false, map[string]any{"Attributes": map[string]string{name: value}})
}
