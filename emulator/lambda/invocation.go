package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Result is the result of one invocation.
type Result struct {
	RequestID string

	// Payload is the function's response. If Error is set, it is the error document that
	// Lambda returns: {"errorType": …, "errorMessage": …}.
	Payload []byte

	// Error is the function's error. Nil if the function answered.
	Error *FunctionError

	// Environment is the number of the environment that ran it, from 1.
	Environment int

	// ColdStart is true if a process was started for this invocation. Init is the time until
	// the process asked for its first invocation.
	ColdStart bool
	Init      time.Duration

	// Duration is the time from the delivery of the payload to the answer, the timeout or
	// the crash.
	Duration time.Duration
}

// FunctionError is the error of a failed invocation: the function's own error, a timeout, a
// crash, or an environment that could not start.
type FunctionError struct {
	// Type is the errorType: the Go type's name for errors of aws-lambda-go,
	// or "Sandbox.Timedout", "Runtime.ExitError", "Runtime.InvalidEntrypoint",
	// "Function.ResponseSizeTooLarge".
	Type    string
	Message string

	// StackTrace is the stack trace that the runtime sent. Nil if there is none.
	StackTrace json.RawMessage

	// Init is true if the environment failed before its first invocation.
	Init bool

	// Output has the last lines that the process printed, at most 20. Nil unless the process
	// ended by itself or reported an init error.
	Output []string

	exit   bool // in-process: the error would have ended a process
	closed bool // the deployment was closed
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// document returns the payload of a failed invocation.
func (e *FunctionError) document() []byte {
	doc, _ := json.Marshal(struct {
		Message    string          `json:"errorMessage"`
		Type       string          `json:"errorType"`
		StackTrace json.RawMessage `json:"stackTrace,omitempty"`
	}{e.Message, e.Type, e.StackTrace})
	return doc
}

func timedOut(requestID string, after time.Duration) *FunctionError {
	return &FunctionError{
		Type:    "Sandbox.Timedout",
		Message: fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", requestID, after.Seconds()),
	}
}

func responseTooLarge(size int64) *FunctionError {
	return &FunctionError{
		Type:    "Function.ResponseSizeTooLarge",
		Message: fmt.Sprintf("Response payload size (%d bytes) exceeded maximum allowed payload size (%d bytes).", size, maxResponse),
	}
}

// answer is the end of an invocation: a response, or an error with its document.
type answer struct {
	payload []byte
	err     *FunctionError
	at      time.Time
}

func failure(err *FunctionError) *answer {
	return &answer{payload: err.document(), err: err, at: time.Now()}
}

// closedAnswer returns the answer to invocations that Close ended.
func closedAnswer() *answer {
	return failure(&FunctionError{Type: "Sandbox.Closed", Message: ErrClosed.Error(), closed: true})
}

func (a *answer) closed() bool { return a.err != nil && a.err.closed }

// invocation is one request to the function, until its answer.
type invocation struct {
	id, traceID string
	payload     []byte

	// delivered is closed when the runtime gets the payload; started and deadline are set
	// before.
	delivered         chan struct{}
	started, deadline time.Time

	back   chan struct{} // token: the request that got the invocation lost its client; nil in-process
	answer chan *answer  // holds the one answer

	mu      sync.Mutex
	claimed bool
}

func newInvocation(payload []byte) *invocation {
	return &invocation{
		id:        newRequestID(),
		traceID:   newTraceID(),
		payload:   payload,
		delivered: make(chan struct{}),
		answer:    make(chan *answer, 1),
	}
}

// deliver starts the invocation's time. It returns false if the invocation was abandoned.
func (i *invocation) deliver(timeout time.Duration) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.claimed {
		return false
	}
	i.started = time.Now()
	i.deadline = i.started.Add(timeout)
	close(i.delivered)
	return true
}

// abandon claims the invocation unless it was delivered.
func (i *invocation) abandon() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.claimed || isClosed(i.delivered) {
		return false
	}
	i.claimed = true
	return true
}

// claim reports whether the caller may answer: true for the first caller only.
func (i *invocation) claim() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	won := !i.claimed
	i.claimed = true
	return won
}

func (i *invocation) isClaimed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.claimed
}

func (i *invocation) result(env int, a *answer) Result {
	r := Result{RequestID: i.id, Payload: a.payload, Error: a.err, Environment: env}
	if !i.started.IsZero() {
		r.Duration = a.at.Sub(i.started)
	}
	return r
}

// newRequestID returns a random UUID, like Lambda's request ids.
func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// newTraceID returns an X-Ray trace header with Sampled=0.
func newTraceID() string {
	var b [20]byte
	_, _ = rand.Read(b[:])
	h := hex.EncodeToString(b[:])
	return "Root=1-" + strconv.FormatInt(time.Now().Unix(), 16) + "-" + h[:24] + ";Parent=" + h[24:] + ";Sampled=0"
}
