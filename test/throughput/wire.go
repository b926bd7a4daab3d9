package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

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
