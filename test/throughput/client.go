package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// client is one connection's worth of calls on one queue.
type client interface {
	// send sends n messages in one call.
	send(n int) error
	// take receives up to n messages in one call, deletes them in another, and
	// returns how many there were.
	take(n int) (int, error)
	close()
}

// lean is the client that writes its requests by hand.
type lean struct {
	*wire
	queue  string
	bodies map[int][]byte // SendMessageBatch requests by their number of entries; 1 is SendMessage
	text   string
	delete []byte
}

func newLean(url, queue string, body int) (*lean, error) {
	w, err := dial(url)
	if err != nil {
		return nil, err
	}
	return &lean{wire: w, queue: queue, bodies: map[int][]byte{}, text: strings.Repeat("b", body)}, nil
}

func (l *lean) send(n int) error {
	request, known := l.bodies[n]
	if !known {
		request = l.sendRequest(n)
		l.bodies[n] = request
	}
	operation := "SendMessageBatch"
	if n == 1 {
		operation = "SendMessage"
	}
	answer, err := l.call(operation, request)
	if err != nil {
		return err
	}
	if sent := bytes.Count(answer, []byte(`"MessageId"`)); sent != n {
		return fmt.Errorf("%s: %d of %d messages were sent: %.300s", operation, sent, n, answer)
	}
	return nil
}

func (l *lean) sendRequest(n int) []byte {
	if n == 1 {
		return fmt.Appendf(nil, `{"QueueUrl":%q,"MessageBody":%q}`, l.queue, l.text)
	}
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":%q}`, i, l.text))
	}
	return fmt.Appendf(nil, `{"QueueUrl":%q,"Entries":[%s]}`, l.queue, strings.Join(entries, ","))
}

var errEscaped = errors.New("a receipt handle has escaped characters, which this client does not read")

func (l *lean) take(n int) (int, error) {
	l.delete = fmt.Appendf(l.delete[:0], `{"QueueUrl":%q,"MaxNumberOfMessages":%d}`, l.queue, n)
	answer, err := l.call("ReceiveMessage", l.delete)
	if err != nil {
		return 0, err
	}
	// The same buffer, once the request is sent.
	l.delete = append(append(append(l.delete[:0], `{"QueueUrl":"`...), l.queue...), '"')
	if n > 1 {
		l.delete = append(l.delete, `,"Entries":[`...)
	}
	const key = `"ReceiptHandle":"`
	taken := 0
	for at := bytes.Index(answer, []byte(key)); at >= 0; at = bytes.Index(answer, []byte(key)) {
		answer = answer[at+len(key):]
		end := bytes.IndexByte(answer, '"')
		if end < 0 || bytes.IndexByte(answer[:end], '\\') >= 0 {
			return 0, errEscaped
		}
		if n == 1 {
			l.delete = append(append(append(l.delete, `,"ReceiptHandle":"`...), answer[:end]...), '"')
		} else {
			if taken > 0 {
				l.delete = append(l.delete, ',')
			}
			l.delete = append(strconv.AppendInt(append(l.delete, `{"Id":"`...), int64(taken), 10), `","ReceiptHandle":"`...)
			l.delete = append(append(l.delete, answer[:end]...), `"}`...)
		}
		taken++
		answer = answer[end:]
	}
	if taken == 0 {
		return 0, nil
	}
	if n == 1 {
		_, err = l.call("DeleteMessage", append(l.delete, '}'))
		return taken, err
	}
	answer, err = l.call("DeleteMessageBatch", append(l.delete, `]}`...))
	if err != nil {
		return 0, err
	}
	if deleted := bytes.Count(answer, []byte(`"Id"`)); deleted != taken || bytes.Contains(answer, []byte(`"Code"`)) {
		return 0, fmt.Errorf("DeleteMessageBatch: not all of %d messages were deleted: %.300s", taken, answer)
	}
	return taken, nil
}
