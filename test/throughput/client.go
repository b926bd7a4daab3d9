package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// client calls on one connection and queue. It writes its requests by hand; no server checks
// a signature.
type client struct {
	conn    net.Conn
	in      *bufio.Reader
	host    string
	queue   string
	sends   map[int][]byte // SendMessageBatch requests by their number of entries; 1 is SendMessage
	text    string
	request []byte
	out     []byte
	answer  bytes.Buffer
}

func newClient(url, queue string, body int) (*client, error) {
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), host: host,
		queue: queue, sends: map[int][]byte{}, text: strings.Repeat("b", body)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// send sends n messages.
func (c *client) send(n int) error {
	operation := "SendMessageBatch"
	if n == 1 {
		operation = "SendMessage"
	}
	if c.sends[n] == nil {
		c.sends[n] = c.sendRequest(n)
	}
	answer, err := c.call(operation, c.sends[n])
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
	c.request = fmt.Appendf(c.request[:0], `{"QueueUrl":%q,"MaxNumberOfMessages":%d}`, c.queue, n)
	answer, err := c.call("ReceiveMessage", c.request)
	if err != nil {
		return 0, err
	}
	handles, err := handlesIn(answer)
	if err != nil || len(handles) == 0 {
		return 0, err
	}
	if n == 1 {
		_, err = c.call("DeleteMessage", fmt.Appendf(c.request[:0], `{"QueueUrl":%q,"ReceiptHandle":"%s"}`, c.queue, handles[0]))
		return 1, err
	}
	c.request = fmt.Appendf(c.request[:0], `{"QueueUrl":%q,"Entries":[`, c.queue)
	for i, handle := range handles {
		c.request = fmt.Appendf(c.request, `{"Id":"%d","ReceiptHandle":"%s"},`, i, handle)
	}
	c.request[len(c.request)-1] = ']' // the last comma
	answer, err = c.call("DeleteMessageBatch", append(c.request, '}'))
	if err != nil {
		return 0, err
	}
	if deleted := bytes.Count(answer, []byte(`"Id"`)); deleted != len(handles) || bytes.Contains(answer, []byte(`"Code"`)) {
		return 0, fmt.Errorf("DeleteMessageBatch: not all of %d messages were deleted: %.300s", len(handles), answer)
	}
	return len(handles), nil
}

func handlesIn(answer []byte) (list [][]byte, err error) {
	for {
		_, after, found := bytes.Cut(answer, []byte(`"ReceiptHandle":"`))
		if !found {
			return list, nil
		}
		handle, rest, whole := bytes.Cut(after, []byte(`"`))
		if !whole || bytes.IndexByte(handle, '\\') >= 0 {
			return nil, errEscaped
		}
		list, answer = append(list, handle), rest
	}
}

// call returns the answer's body, until the next call. All but 200 is an error.
func (c *client) call(operation string, body []byte) ([]byte, error) {
	c.out = fmt.Appendf(c.out[:0], "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-amz-json-1.0\r\n"+
		"X-Amz-Target: AmazonSQS.%s\r\nContent-Length: %d\r\n\r\n%s", c.host, operation, len(body), body)
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	c.answer.Reset()
	if _, err := c.answer.ReadFrom(answer.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d: %.300s", operation, answer.StatusCode, c.answer.Bytes())
	}
	return c.answer.Bytes(), nil
}
