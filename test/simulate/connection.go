package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// connection is an environment's way to SQS. It notes every call, and dies
// with the environment.
type connection struct {
	env *environment
	way *way
	// kills tells which kill strikes a call, of those that strike calls. The invocation
	// is nil in the long-poll mode.
	kills func(i *Invocation, number int, operation string) Ending
}

var errReset error = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// RoundTrip makes a call for a process, or for the invocation that its context belongs to.
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	e := c.env
	if err := r.Context().Err(); err != nil {
		return nil, err // a real connection sends nothing then, so it is no call
	}
	call, err := readCall(r)
	if err != nil {
		return nil, err
	}
	i := e.rec.invocation(requestID(r.Context()))
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
		if call.Began = e.rec.moment(); e.process == nil || !e.process.Killed.Came() {
			number = len(work.Calls)
			work.Calls = append(work.Calls, call)
		}
	})
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
	response, err := c.way.carry(call, r.WithContext(ctx))
	if kill == AfterCall {
		e.killAt(kill, call.Operation)
	}
	if e.isDead() {
		return nil, errReset
	}
	return e.rec.note(call, response, err, r.Context().Err())
}

// note writes down the answer and returns it unchanged. ended is why the call
// was given up, if it was.
func (r *recorder) note(call *Call, response *http.Response, err, ended error) (*http.Response, error) {
	var body []byte
	var cut error // in the middle of the answer, which the caller sees for itself
	if err == nil {
		body, cut = io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(body))
		if cut != nil {
			response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{cut}))
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
