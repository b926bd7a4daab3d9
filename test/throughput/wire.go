package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// wire is a connection over which requests go as bytes: no signature (neither
// server checks one), no reflection, nothing allocated for a call. It reads what
// the two servers write: HTTP/1.1 with a Content-Length, or in chunks.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	host string
	out  []byte
	body []byte
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

// call returns the answer's body, which the next call overwrites. Any status
// but 200 is an error.
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
	status, err := w.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if status != 200 {
		return nil, fmt.Errorf("%s: status %d: %.300s", operation, status, w.body)
	}
	return w.body, nil
}

// read reads one answer into w.body.
func (w *wire) read() (status int, err error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(line)
	if len(fields) < 2 || !bytes.Equal(fields[0], []byte("HTTP/1.1")) {
		return 0, fmt.Errorf("the answer begins with %q", line)
	}
	if status, err = strconv.Atoi(string(fields[1])); err != nil {
		return 0, err
	}
	length, chunked := 0, false
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		}
	}
	w.body = w.body[:0]
	if !chunked {
		return status, w.take(length)
	}
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return 0, err
		}
		if err := w.take(int(size)); err != nil {
			return 0, err
		}
		if _, err := w.in.Discard(len("\r\n")); err != nil || size == 0 {
			return status, err
		}
	}
}

// take appends n bytes to w.body.
func (w *wire) take(n int) error {
	at := len(w.body)
	if cap(w.body) < at+n {
		w.body = append(make([]byte, 0, 2*(at+n)), w.body...)
	}
	w.body = w.body[:at+n]
	_, err := io.ReadFull(w.in, w.body[at:])
	return err
}
