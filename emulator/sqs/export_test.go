package sqs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// FillInFlight sends n messages to a queue and receives them, ten in a group, without the
// JSON and the digests of requests.
func FillInFlight(s *Server, name string, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.queues[name], time.Now()
	for i := range n {
		c := &content{body: "a", groupID: strconv.Itoa(i / 10), deduplicationID: strconv.Itoa(i)}
		if !q.fifo {
			c.deduplicationID = ""
		}
		if _, err := s.send(q, &draft{content: c, size: 1}, now); err != nil {
			return err
		}
	}
	r := &receiver{call: &call{ctx: context.Background()}, max: n}
	if got := len(s.dequeue(q, r, now)); got != n {
		return fmt.Errorf("took %d messages, want %d", got, n)
	}
	return nil
}

// OperationNames returns the names of all operations, sorted.
func OperationNames() []string { return slices.Sorted(maps.Keys(operations)) }

// ReadPlain decodes a request for an operation without encoding/json, if ok is true, and
// with it.
func ReadPlain(operation string, body []byte) (plain any, ok bool, standard any, err error) {
	op := operations[operation]
	plain, standard = op.request(), op.request()
	if object, reads := plain.(plainRequest); reads {
		ok = readPlain(string(body), object)
	}
	return plain, ok, standard, decode(body, standard)
}

// KeepsRequest reports whether the body of a SendMessage is read as a part of the request's text,
// which stays in memory then.
func KeepsRequest(request, body string) bool {
	var in sendRequest
	return !readPlain(request, &in) || in.MessageBody != body ||
		unsafe.StringData(in.MessageBody) == unsafe.StringData(request[strings.Index(request, body):])
}
