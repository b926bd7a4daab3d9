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
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

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
