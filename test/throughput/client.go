package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// client calls on one connection and queue. It writes its requests by hand.
type client struct {
	*wire
	queue  string
	bodies map[int][]byte // SendMessageBatch requests by their number of entries; 1 is SendMessage
	text   string
	delete []byte
}

func newClient(url, queue string, body int) (*client, error) {
	w, err := dial(url)
	if err != nil {
		return nil, err
	}
	return &client{wire: w, queue: queue, bodies: map[int][]byte{}, text: strings.Repeat("b", body)}, nil
}

func (c *client) send(n int) error {
	request, known := c.bodies[n]
	if !known {
		request = c.sendRequest(n)
		c.bodies[n] = request
	}
	operation := "SendMessageBatch"
	if n == 1 {
		operation = "SendMessage"
	}
	answer, err := c.call(operation, request)
	if err != nil {
		return err
	}
	if sent := bytes.Count(answer, []byte(`"MessageId"`)); sent != n {
		return fmt.Errorf("%s: %d of %d messages were sent: %.300s", operation, sent, n, answer)
	}
	return nil
}

func (c *client) sendRequest(n int) []byte {
	if n == 1 {
		return fmt.Appendf(nil, `{"QueueUrl":%q,"MessageBody":%q}`, c.queue, c.text)
	}
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":%q}`, i, c.text))
	}
	return fmt.Appendf(nil, `{"QueueUrl":%q,"Entries":[%s]}`, c.queue, strings.Join(entries, ","))
}

var errEscaped = errors.New("a receipt handle has escaped characters, which this client does not read")

// take receives up to n messages, deletes them, and returns how many.
func (c *client) take(n int) (int, error) {
	c.delete = fmt.Appendf(c.delete[:0], `{"QueueUrl":%q,"MaxNumberOfMessages":%d}`, c.queue, n)
	answer, err := c.call("ReceiveMessage", c.delete)
	if err != nil {
		return 0, err
	}
	// The same buffer, once the request is sent.
	c.delete = append(append(append(c.delete[:0], `{"QueueUrl":"`...), c.queue...), '"')
	if n > 1 {
		c.delete = append(c.delete, `,"Entries":[`...)
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
			c.delete = append(append(append(c.delete, `,"ReceiptHandle":"`...), answer[:end]...), '"')
		} else {
			if taken > 0 {
				c.delete = append(c.delete, ',')
			}
			c.delete = append(strconv.AppendInt(append(c.delete, `{"Id":"`...), int64(taken), 10), `","ReceiptHandle":"`...)
			c.delete = append(append(c.delete, answer[:end]...), `"}`...)
		}
		taken++
		answer = answer[end:]
	}
	if taken == 0 {
		return 0, nil
	}
	if n == 1 {
		_, err = c.call("DeleteMessage", append(c.delete, '}'))
		return taken, err
	}
	answer, err = c.call("DeleteMessageBatch", append(c.delete, `]}`...))
	if err != nil {
		return 0, err
	}
	if deleted := bytes.Count(answer, []byte(`"Id"`)); deleted != taken || bytes.Contains(answer, []byte(`"Code"`)) {
		return 0, fmt.Errorf("DeleteMessageBatch: not all of %d messages were deleted: %.300s", taken, answer)
	}
	return taken, nil
}

// wire is a connection for requests as bytes. No server checks a signature.
type wire struct {
	conn   net.Conn
	in     *bufio.Reader
	host   string
	out    []byte
	answer bytes.Buffer
}

func dial(url string) (*wire, error) {
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), host: host}, nil
}

func (w *wire) close() { _ = w.conn.Close() }

// call returns the answer's body, until the next call. All but 200 is an error.
func (w *wire) call(operation string, body []byte) ([]byte, error) {
	w.out = append(w.out[:0], "POST / HTTP/1.1\r\nHost: "...)
	w.out = append(w.out, w.host...)
	w.out = append(w.out, "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS."...)
	w.out = append(w.out, operation...)
	w.out = append(w.out, "\r\nContent-Length: "...)
	w.out = strconv.AppendInt(w.out, int64(len(body)), 10)
	w.out = append(w.out, "\r\n\r\n"...)
	w.out = append(w.out, body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	answer, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	w.answer.Reset()
	if _, err := w.answer.ReadFrom(answer.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d: %.300s", operation, answer.StatusCode, w.answer.Bytes())
	}
	return w.answer.Bytes(), nil
}
