package sqs

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// Package plainjson reads the most frequent requests; encoding/json reads the rest. Values that
// outlive the request are copied, so that a message does not keep its batch in memory. When
// go.mod requires Go 1.27, encoding/json/v2 can replace this: it compares names exactly, like the
// protocol of SQS.

// plainRequest is a request, or a part of one, that a scanner can fill.
type plainRequest interface {
	// member reads the value of the member name. It returns false for an unknown name, and
	// otherwise the result of the scanner's methods.
	member(s scanner, name string) bool
}

type scanner struct {
	*plainjson.Scanner
	text string
}

// readPlain fills in with a body, which must be one object. If it returns false, in may be half
// filled.
func readPlain(body string, in plainRequest) bool {
	s := scanner{plainjson.NewScanner(body), body}
	return utf8.ValidString(body) && s.object(in) && s.End()
}

// read decodes the body of a request for an operation.
func (op operation) read(body []byte) (any, error) {
	in := op.request()
	if plain, ok := in.(plainRequest); ok {
		if readPlain(string(body), plain) {
			return in, nil
		}
		in = op.request()
	}
	return in, decode(body, in)
}

func (s scanner) object(o plainRequest) bool {
	return s.Members(func(name string) bool { return o.member(s, name) })
}

// texts reads a list of strings into to, which is not nil afterwards.
func (s scanner) texts(to *[]string) bool {
	*to = []string{}
	return s.List(func() bool {
		text, ok := s.Text()
		*to = append(*to, text)
		return ok
	})
}

// number reads a whole number of at least 0.
func (s scanner) number(to **int) bool {
	s.Peek()
	start := s.Pos
	if !s.Skip() {
		return false
	}
	n, err := strconv.Atoi(s.text[start:s.Pos])
	*to = &n
	return err == nil && n >= 0
}

func (s scanner) optional(to **string) bool {
	text, ok := s.Text()
	text = strings.Clone(text)
	*to = &text
	return ok
}

func (r *queueRequest) member(s scanner, name string) (ok bool) {
	if name == "QueueUrl" {
		r.QueueURL, ok = s.Text()
	}
	return ok
}

func (in *sendRequest) member(s scanner, name string) bool {
	return in.queueRequest.member(s, name) || name != "QueueUrl" && in.sendEntry.member(s, name)
}

func (e *sendEntry) member(s scanner, name string) (ok bool) {
	switch name {
	case "Id":
		e.ID, ok = s.Text()
	case "MessageBody":
		e.MessageBody, ok = s.Text()
		e.MessageBody = strings.Clone(e.MessageBody)
	case "DelaySeconds":
		return s.number(&e.DelaySeconds)
	case "MessageGroupId":
		return s.optional(&e.MessageGroupID)
	case "MessageDeduplicationId":
		return s.optional(&e.MessageDeduplicationID)
	}
	return ok
}

func (in *sendBatch) member(s scanner, name string) bool {
	if name == "Entries" {
		return entries(s, &in.Entries)
	}
	return in.queueRequest.member(s, name)
}

func (in *receiveRequest) member(s scanner, name string) bool {
	switch name {
	case "MaxNumberOfMessages":
		return s.number(&in.MaxNumberOfMessages)
	case "VisibilityTimeout":
		return s.number(&in.VisibilityTimeout)
	case "WaitTimeSeconds":
		return s.number(&in.WaitTimeSeconds)
	case "MessageAttributeNames":
		return s.texts(&in.MessageAttributeNames)
	case "AttributeNames":
		return s.texts(&in.AttributeNames)
	case "MessageSystemAttributeNames":
		return s.texts(&in.MessageSystemAttributeNames)
	case "ReceiveRequestAttemptId":
		return s.optional(&in.ReceiveRequestAttemptID)
	}
	return in.queueRequest.member(s, name)
}

func (e *receiptEntry) member(s scanner, name string) (ok bool) {
	switch name {
	case "Id":
		e.ID, ok = s.Text()
	case "ReceiptHandle":
		e.ReceiptHandle, ok = s.Text()
	case "VisibilityTimeout":
		return s.number(&e.VisibilityTimeout)
	}
	return ok
}

func (in *receiptRequest) member(s scanner, name string) bool {
	return in.queueRequest.member(s, name) || name != "QueueUrl" && in.receiptEntry.member(s, name)
}

func (in *receiptBatch) member(s scanner, name string) bool {
	if name == "Entries" {
		return entries(s, &in.Entries)
	}
	return in.queueRequest.member(s, name)
}

// entries reads a batch's entries. It leaves a second list of the same name to encoding/json,
// which merges the lists.
func entries[E any, P interface {
	*E
	plainRequest
}](s scanner, to *[]E) bool {
	if *to != nil {
		return false
	}
	*to = make([]E, 0, maxBatch)
	return s.List(func() bool {
		*to = append(*to, *new(E))
		return s.object(P(&(*to)[len(*to)-1]))
	})
}
