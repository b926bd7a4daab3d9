package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing/iotest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Break is what goes wrong with the toolkit's calls on their way to SQS, or with
// calls as a whole: what the emulator's faults do not have.
type Break struct {
	Kind      BreakKind
	Operation string
	Skip      int  // calls that pass before the first that is struck
	Times     int  // how many are struck; 0: all until Heal
	Most      int  // of TooMany: entries that a call may have
	Message   int  // of OneEntry: the message that is refused
	Heartbeat bool // only calls about a record that is being handled
}

// BreakKind is what goes wrong with a call.
type BreakKind string

const (
	Reset    BreakKind = "reset"              // the connection ends before the effect
	Silent   BreakKind = "silence"            // the call is carried out, and never answered
	CutOff   BreakKind = "cut off"            // the call is carried out, and half of its answer arrives
	TooMany  BreakKind = "too many entries"   // a call with more entries than Most is refused as a whole
	OneEntry BreakKind = "one entry too many" // a call with an entry about Message is refused as a whole
)

// whole reports whether it refuses a call as a whole that may succeed in parts.
func (k BreakKind) whole() bool { return k == TooMany || k == OneEntry }

// settling are the operations that report to SQS what happened to records, heartbeats
// included, and the one that this needs.
var settling = []string{"SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "GetQueueAttributes"}

// breakKinds are what can go wrong with an operation.
func breakKinds(operation string) []BreakKind {
	kinds := []BreakKind{Reset, Silent, CutOff}
	if operation == "GetQueueAttributes" {
		return kinds
	}
	return append(kinds, TooMany, OneEntry)
}

func (g generator) breaks(p Plan) (list []Break) {
	for range 1 + g.IntN(3) {
		b := Break{Operation: random.Pick(g, append(settling, "SendMessageBatch")...), Times: random.Pick(g, 0, 0, 1, 3), Skip: random.Sometimes(g, 4, 1, 3)}
		kinds := breakKinds(b.Operation)
		b.Kind = random.Pick(g, append(kinds, kinds[len(kinds)-2:]...)...)
		switch b.Kind {
		case TooMany:
			b.Most, b.Times = random.Pick(g, 1, 2, 3, 5), random.Pick(g, 0, 0, 3)
		case OneEntry:
			b.Message, b.Times = random.Pick(g, p.Messages...).Number, random.Pick(g, 0, 0, 3)
		}
		if b.Operation == "SendMessageBatch" {
			b.Skip = 0 // they are few, and most of few entries
			b.Most = min(b.Most, 1)
		}
		list = append(list, b)
	}
	return list
}

// heartbeat breaks calls that extend what is handled.
func (g generator) heartbeat(p Plan) Break {
	b := Break{Heartbeat: true, Operation: "ChangeMessageVisibilityBatch", Times: random.Pick(g, 1, 3), Skip: random.Sometimes(g, 4, 1),
		Most: 1, Message: random.Pick(g, p.Messages...).Number}
	b.Kind = random.Pick(g, breakKinds(b.Operation)...)
	return b
}

// breaksDeletes reports whether deletes break, or a process dies in one.
func (p Plan) breaksDeletes() bool {
	return slices.ContainsFunc(p.Breaks, func(b Break) bool { return b.Operation == "DeleteMessageBatch" }) ||
		slices.ContainsFunc(p.Kills, func(k Kill) bool { return k.Operation == "DeleteMessageBatch" })
}

// carry makes a call of the toolkit, and breaks it as the plan says.
func (w *world) carry(call *Call, r *http.Request) (*http.Response, error) {
	next := w.server.HTTPClient().Transport
	kind := w.broken(call)
	if kind == "" {
		return next.RoundTrip(r)
	}
	w.rec.struck(string(kind) + " of " + call.Operation)
	w.rec.locked(func() { call.Broken = kind })
	switch kind {
	case Reset:
		return nil, errReset
	case TooMany:
		return refusal(r, "TooManyEntriesInBatchRequest"), nil
	case OneEntry:
		return refusal(r, "InvalidParameterValueException"), nil
	}
	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if kind == Silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(errReset)))
	return response, err
}

// broken returns what breaks a call; "" for nothing.
func (w *world) broken(call *Call) BreakKind {
	return strike(w, w.plan.Breaks, w.breaks, func(b Break) (skip, times int, may bool) {
		return b.Skip, b.Times, b.Operation == call.Operation && b.concerns(call, w.rec)
	}).Kind
}

// strike returns the first fault of a list that strikes a call, or the zero value. Of one that
// may strike it, what it skips and how often it strikes is counted in passed; 0 times are all.
func strike[F any](w *world, list []F, passed []int, of func(F) (skip, times int, may bool)) (first F) {
	if w.healed.Load() {
		return first
	}
	w.rec.locked(func() {
		found := false
		for k, f := range list {
			skip, times, may := of(f)
			if !may {
				continue
			}
			if n := passed[k]; !found && n >= skip && (times == 0 || n < skip+times) {
				first, found = f, true
			}
			passed[k]++
		}
	})
	return first
}

func (b Break) concerns(call *Call, rec *recorder) bool {
	if b.Heartbeat && !slices.ContainsFunc(call.Entries, func(e Entry) bool { return rec.running[e.Receipt] }) {
		return false
	}
	switch b.Kind {
	case TooMany:
		return len(call.Entries) > b.Most
	case OneEntry:
		return slices.ContainsFunc(call.Entries, func(e Entry) bool { return rec.numberOf(e) == b.Message })
	}
	return true
}

// refusal is SQS's answer to a call that is refused.
func refusal(r *http.Request, code string) *http.Response {
	body := fmt.Sprintf(`{"__type":"com.amazonaws.sqs#%s","message":"The simulator refuses the call."}`, code)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// connection is an environment's way to SQS. It notes every call, and dies with the environment.
type connection struct {
	w   *world
	env *environment
	// kills tells which kill strikes a call; the invocation is nil in the long-poll mode.
	kills func(i *Invocation, number int, operation string) Ending
}

var errReset error = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// RoundTrip makes a call for a process, or for the invocation that its context belongs to.
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	e := c.env
	call, err := readCall(r)
	if err != nil {
		return nil, err
	}
	invocation := requestID(r.Context())
	c.w.turns.wait(e.turn(call.about(invocation)))
	i := e.rec.invocation(invocation)
	var work *Work
	switch {
	case e.process != nil:
		work = &e.process.Work
	case i == nil || e.isDead():
		return nil, errReset
	default:
		work = &i.Work
	}
	number := 0
	e.rec.locked(func() {
		if err = r.Context().Err(); err != nil {
			return // a real connection sends nothing then, so it is no call
		}
		if call.Began = e.rec.moment(); e.process == nil || !e.process.Killed.Came() {
			number = len(work.Calls)
			work.Calls = append(work.Calls, call)
		}
	})
	if err != nil {
		return nil, err
	}
	if e.isDead() {
		return nil, errReset // of a process whose Run has returned the call is noted
	}
	kill := c.kills(i, number, call.Operation)
	if kill == BeforeCall {
		e.killAt(kill, call.Operation)
		return nil, errReset
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if e.process != nil {
		defer context.AfterFunc(e.ctx, cancel)() // its connections end with it
	}
	response, err := c.w.carry(call, r.WithContext(ctx))
	c.w.turns.wait(e.turn(fmt.Sprintf("call %d is answered", call.Began.Seq)))
	if kill == AfterCall {
		e.killAt(kill, call.Operation)
	}
	if e.isDead() {
		return nil, errReset
	}
	ended := r.Context().Err()
	if at, ok := r.Context().Deadline(); ended != nil && ok && !time.Now().Before(at) {
		// It may have been canceled at the same time. Which came first is left to chance.
		ended, err = context.DeadlineExceeded, context.DeadlineExceeded
	}
	return e.rec.note(call, response, err, ended)
}

// note writes down the answer and returns it unchanged; ended is why the call was given up, if it was.
func (r *recorder) note(call *Call, response *http.Response, err, ended error) (*http.Response, error) {
	var body []byte
	var cut error // in the middle of the answer, which the caller sees for itself
	if err == nil {
		body, cut = io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(body))
		if cut != nil {
			response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(cut)))
		}
	}
	var answer struct {
		Type       string `json:"__type"`
		Successful []struct{ Id string }
		Failed     []struct{ Id, Code string }
		Messages   []struct{ ReceiptHandle string }
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	call.Ended = r.moment()
	switch {
	case err != nil:
		call.Err, call.GivenUp = err.Error(), errors.Is(ended, context.Canceled)
		return nil, err
	case cut != nil:
		call.Err = cut.Error()
		return response, nil
	}
	_ = json.Unmarshal(body, &answer) // an answer that cannot be read names nothing
	if response.StatusCode != http.StatusOK {
		call.Err = answer.Type[strings.LastIndexByte(answer.Type, '#')+1:]
		return response, nil
	}
	for _, m := range answer.Messages {
		call.Got = append(call.Got, m.ReceiptHandle)
	}
	for k := range call.Entries {
		e := &call.Entries[k]
		for _, s := range answer.Successful {
			e.OK = e.OK || s.Id == e.id
		}
		for _, f := range answer.Failed {
			if f.Id == e.id {
				e.Code = f.Code
			}
		}
	}
	return response, nil
}

// about tells a call from others of its process that wait at the same time.
func (c *Call) about(invocation string) string {
	who := invocation + c.Operation + c.Queue + strconv.Itoa(c.Most)
	for _, e := range c.Entries {
		who += " " + e.Receipt + e.Body
	}
	return who
}

// inTurn is a way to the server of what is no part of the toolkit.
func (w *world) inTurn(name string) http.RoundTripper {
	next := w.server.HTTPClient().Transport
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call, err := readCall(r)
		if err != nil {
			return nil, err
		}
		who := name + call.about("")
		w.turns.wait(who)
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(r)
		w.turns.wait(who + " is answered")
		return response, err
	})
}

// readCall reads what is asked for, and leaves the request as it was.
func readCall(r *http.Request) (*Call, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	var asked struct {
		QueueURL string `json:"QueueUrl"`
		Wait     int    `json:"WaitTimeSeconds"`
		Most     int    `json:"MaxNumberOfMessages"`
		Entries  []struct {
			ID                string `json:"Id"`
			ReceiptHandle     string
			VisibilityTimeout int
			MessageBody       string
		}
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	target := r.Header.Get("X-Amz-Target")
	call := &Call{Operation: target[strings.IndexByte(target, '.')+1:], Queue: batch.QueueName(asked.QueueURL),
		Wait: time.Duration(asked.Wait) * time.Second, Most: asked.Most}
	for _, e := range asked.Entries {
		call.Entries = append(call.Entries, Entry{id: e.ID, Receipt: e.ReceiptHandle, Seconds: e.VisibilityTimeout, Body: e.MessageBody})
	}
	return call, nil
}
