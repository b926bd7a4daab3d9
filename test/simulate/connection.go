package simulate

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// settling are the operations that tell SQS what happened to a record, or are
// needed for it. Heartbeats are of the third.
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
		b := Break{Operation: pick(g, append(settling, "SendMessageBatch")...), Times: pick(g, 0, 0, 1, 3), Skip: sometimes(g, 4, 1, 3)}
		kinds := breakKinds(b.Operation)
		b.Kind = pick(g, append(kinds, kinds[len(kinds)-2:]...)...)
		switch b.Kind {
		case TooMany:
			b.Most, b.Times = pick(g, 1, 2, 3, 5), pick(g, 0, 0, 3)
		case OneEntry:
			b.Message, b.Times = pick(g, p.Messages...).Number, pick(g, 0, 0, 3)
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
	b := Break{Heartbeat: true, Operation: "ChangeMessageVisibilityBatch", Times: pick(g, 1, 3), Skip: sometimes(g, 4, 1),
		Most: 1, Message: pick(g, p.Messages...).Number}
	b.Kind = pick(g, breakKinds(b.Operation)...)
	return b
}

// breaksDeletes reports whether deletes break, or a process dies in one.
func (p Plan) breaksDeletes() bool {
	return slices.ContainsFunc(p.Breaks, func(b Break) bool { return b.Operation == "DeleteMessageBatch" }) ||
		slices.ContainsFunc(p.Kills, func(k Kill) bool { return k.Operation == "DeleteMessageBatch" })
}

// way is the toolkit's way to SQS: calls may break on it.
type way struct {
	w      *world
	next   http.RoundTripper
	passed []int // calls that each of the plan's breaks could have struck; guarded by the recorder's lock
}

// carry makes a call, and breaks it as the plan says.
func (y *way) carry(call *Call, r *http.Request) (*http.Response, error) {
	kind := y.strike(call)
	if kind == "" {
		return y.next.RoundTrip(r)
	}
	y.w.rec.struck(string(kind) + " of " + call.Operation)
	y.w.rec.locked(func() { call.Broken = kind })
	switch kind {
	case Reset:
		return nil, errReset
	case TooMany:
		return refusal(r, "TooManyEntriesInBatchRequest"), nil
	case OneEntry:
		return refusal(r, "InvalidParameterValueException"), nil
	}
	response, err := y.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if kind == Silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{errReset}))
	return response, err
}

// strike returns what breaks a call; "" for nothing.
func (y *way) strike(call *Call) (kind BreakKind) {
	if y.w.healed.Load() {
		return ""
	}
	y.w.rec.locked(func() {
		for k, b := range y.w.plan.Breaks {
			if b.Operation != call.Operation || !b.concerns(call, y.w.rec) {
				continue
			}
			if strikes(&y.passed[k], b.Skip, b.Times) && kind == "" {
				kind = b.Kind
			}
		}
	})
	return kind
}

// strikes counts a call that a fault could strike, and reports whether it does: it skips some
// calls, and strikes so many, all with 0.
func strikes(passed *int, skip, times int) bool {
	n := *passed
	*passed++
	return n >= skip && (times == 0 || n < skip+times)
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
		Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: r}
}

// broken is a reader that fails.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
