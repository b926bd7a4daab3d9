package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

type call struct {
	process      int
	operation    string
	queue        string // its name
	began, ended time.Time
	trouble      string  // "" when it was answered with success
	entries      []entry // of a batch call: the deliveries that it names
	given        int     // messages that a receive returned
}

type entry struct {
	n       int
	seconds int // of ChangeMessageVisibilityBatch
	failed  bool
}

// spy stands before the server and notes what a slot's worker asks and gets.
type spy struct {
	server  http.Handler
	ledger  *ledger
	process *atomic.Int64 // the slot's present one
}

func (s *spy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // see roundTrips
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the request was cut
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c := call{process: int(s.process.Load()), began: time.Now(), operation: strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")}
	answer := &recorder{ResponseWriter: w}
	defer func() {
		broken := recover()
		c.ended = time.Now()
		switch {
		case broken != nil:
			c.trouble = "no answer"
		case answer.status == 0:
			c.trouble = "client gone"
		case answer.status != http.StatusOK:
			c.trouble = w.Header().Get("X-Amzn-Query-Error")
		}
		s.ledger.note(c, body, answer.body.Bytes())
		if broken != nil {
			panic(broken)
		}
	}()
	s.server.ServeHTTP(answer, r)
}

// request and answer are what is read of a call, whichever it is.
type request struct {
	QueueURL          string `json:"QueueUrl"`
	VisibilityTimeout int
	Entries           []struct {
		ID                string `json:"Id"`
		ReceiptHandle     string
		VisibilityTimeout int
		MessageBody       string
	}
}

type answer struct {
	Successful, Failed []struct {
		ID        string `json:"Id"`
		MessageID string `json:"MessageId"`
	}
	Messages []struct {
		MessageID           string `json:"MessageId"`
		Body, ReceiptHandle string
		Attributes          struct{ ApproximateReceiveCount string }
	}
}

func (r *request) queue() string { return r.QueueURL[strings.LastIndexByte(r.QueueURL, '/')+1:] }

func (l *ledger) note(c call, requestBody, answerBody []byte) {
	var asked request
	var told answer
	// What does not parse names nothing, and shows as a message without calls.
	_ = json.Unmarshal(requestBody, &asked)
	c.queue = asked.queue()
	if c.trouble == "" {
		_ = json.Unmarshal(answerBody, &told)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	c.given = len(told.Messages)
	for _, m := range told.Messages {
		if i, ok := l.byHandle[m.ReceiptHandle]; ok {
			l.deliveries[i].process = c.process
		}
	}
	for _, a := range asked.Entries {
		i, ok := l.byHandle[a.ReceiptHandle]
		if !ok {
			continue
		}
		e := entry{n: l.deliveries[i].n, seconds: a.VisibilityTimeout, failed: c.trouble != ""}
		for _, f := range told.Failed {
			e.failed = e.failed || f.ID == a.ID
		}
		c.entries = append(c.entries, e)
	}
	l.calls = append(l.calls, c)
}

// recorder keeps a copy of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (w *recorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.body.Write(p)
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// forward passes requests on, and derives from the answers what the emulator would
// tell the ledger, before the worker knows.
type forward struct {
	ctx    context.Context // the run's
	url    string
	ledger *ledger
}

func (f *forward) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the request was cut
	}
	// What has arrived is carried out, whatever happens to the client. So does
	// ElasticMQ by itself, and only its answer says what it did.
	out, err := http.NewRequestWithContext(f.ctx, r.Method, f.url+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	got, err := http.DefaultClient.Do(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the run is over
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if got.StatusCode == http.StatusOK {
		f.ledger.infer(strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS."), body, text)
	}
	if r.Context().Err() != nil {
		return // the client has left: no worker has what this answer brings
	}
	maps.Copy(w.Header(), got.Header)
	w.WriteHeader(got.StatusCode)
	_, _ = w.Write(text) // the client may leave now
}

// infer adds the events that a successful call was.
func (l *ledger) infer(operation string, requestBody, answerBody []byte) {
	var asked request
	var told answer
	// What does not parse did nothing, and shows as messages that are not deleted.
	_ = json.Unmarshal(requestBody, &asked)
	_ = json.Unmarshal(answerBody, &told)
	l.mu.Lock()
	defer l.mu.Unlock()
	now, queue := time.Now(), asked.queue()
	for _, m := range told.Messages {
		if n, ok := numberOf(m.Body); ok {
			count, _ := strconv.Atoi(m.Attributes.ApproximateReceiveCount)
			l.add(n, sqs.Event{Time: now, Kind: sqs.Received, Queue: queue, MessageID: m.MessageID, ReceiptHandle: m.ReceiptHandle, ReceiveCount: count,
				Visibility: time.Duration(asked.VisibilityTimeout) * time.Second})
		}
	}
	succeeded := map[string]string{} // to the message id of a send
	for _, s := range told.Successful {
		succeeded[s.ID] = s.MessageID
	}
	for _, e := range asked.Entries {
		id, is := succeeded[e.ID]
		if !is {
			continue
		}
		if second, known := l.secondByHandle[e.ReceiptHandle]; known {
			l.second[second] = l.second[second] && operation != "DeleteMessageBatch"
			continue
		}
		n, ok := numberOf(e.MessageBody)
		if i, known := l.byHandle[e.ReceiptHandle]; known {
			n, ok = l.deliveries[i].n, true
		}
		if !ok || n >= len(l.messages) {
			continue
		}
		if id == "" {
			id = l.messages[n].id
		}
		event := sqs.Event{Time: now, Queue: queue, MessageID: id, ReceiptHandle: e.ReceiptHandle}
		switch operation {
		case "SendMessageBatch":
			event.Kind = sqs.Sent
		case "DeleteMessageBatch":
			if event.Kind = sqs.Deleted; !l.messages[n].deleted.IsZero() {
				continue // once more
			}
		case "ChangeMessageVisibilityBatch":
			event.Kind, event.Visibility = sqs.Visibility, time.Duration(e.VisibilityTimeout)*time.Second
		}
		l.add(n, event)
	}
}
