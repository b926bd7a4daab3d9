package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"
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
	QueueURL string `json:"QueueUrl"`
	Entries  []struct {
		ID                string `json:"Id"`
		ReceiptHandle     string
		VisibilityTimeout int
	}
}

type answer struct {
	Failed []struct {
		ID string `json:"Id"`
	}
	Messages []struct{ ReceiptHandle string }
}

func (l *ledger) note(c call, requestBody, answerBody []byte) {
	var asked request
	var told answer
	// What does not parse names nothing, and shows as a message without calls.
	_ = json.Unmarshal(requestBody, &asked)
	c.queue = path.Base(asked.QueueURL)
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
