package sqs

import "github.com/sqsbatch/sqsbatch/emulator/internal/wirejson"

// Package wirejson reads the most frequent requests; encoding/json reads the rest. Values that
// outlive the request are read with Kept, so that a message does not keep its batch in memory.

// read decodes the body of a request for an operation.
func (op operation) read(body []byte) (any, error) {
	in := op.request()
	if plain, ok := in.(wirejson.Object); ok {
		if wirejson.NewScanner(string(body)).Whole(plain) {
			return in, nil
		}
		in = op.request()
	}
	return in, decode(body, in)
}

func (r *queueRequest) Member(s *wirejson.Scanner, name string) (ok bool) {
	if name == "QueueUrl" {
		r.QueueURL, ok = s.Text()
	}
	return ok
}

func (in *sendRequest) Member(s *wirejson.Scanner, name string) bool {
	return in.queueRequest.Member(s, name) || name != "QueueUrl" && in.sendEntry.Member(s, name)
}

func (e *sendEntry) Member(s *wirejson.Scanner, name string) (ok bool) {
	switch name {
	case "Id":
		e.ID, ok = s.Text()
	case "MessageBody":
		e.MessageBody, ok = s.Kept()
	case "DelaySeconds":
		return number(s, &e.DelaySeconds)
	case "MessageGroupId":
		return optional(s, &e.MessageGroupID)
	case "MessageDeduplicationId":
		return optional(s, &e.MessageDeduplicationID)
	}
	return ok
}

func (in *sendBatch) Member(s *wirejson.Scanner, name string) bool {
	if name == "Entries" {
		return entries(s, &in.Entries, func(e *sendEntry) wirejson.Object { return e })
	}
	return in.queueRequest.Member(s, name)
}

func (in *receiveRequest) Member(s *wirejson.Scanner, name string) bool {
	switch name {
	case "MaxNumberOfMessages":
		return number(s, &in.MaxNumberOfMessages)
	case "VisibilityTimeout":
		return number(s, &in.VisibilityTimeout)
	case "WaitTimeSeconds":
		return number(s, &in.WaitTimeSeconds)
	case "MessageAttributeNames":
		return s.Texts(&in.MessageAttributeNames)
	case "AttributeNames":
		return s.Texts(&in.AttributeNames)
	case "MessageSystemAttributeNames":
		return s.Texts(&in.MessageSystemAttributeNames)
	case "ReceiveRequestAttemptId":
		return optional(s, &in.ReceiveRequestAttemptID)
	}
	return in.queueRequest.Member(s, name)
}

func (e *receiptEntry) Member(s *wirejson.Scanner, name string) (ok bool) {
	switch name {
	case "Id":
		e.ID, ok = s.Text()
	case "ReceiptHandle":
		e.ReceiptHandle, ok = s.Text()
	case "VisibilityTimeout":
		return number(s, &e.VisibilityTimeout)
	}
	return ok
}

func (in *receiptRequest) Member(s *wirejson.Scanner, name string) bool {
	return in.queueRequest.Member(s, name) || name != "QueueUrl" && in.receiptEntry.Member(s, name)
}

func (in *receiptBatch) Member(s *wirejson.Scanner, name string) bool {
	if name == "Entries" {
		return entries(s, &in.Entries, func(e *receiptEntry) wirejson.Object { return e })
	}
	return in.queueRequest.Member(s, name)
}

func number(s *wirejson.Scanner, to **int) bool {
	*to = new(int)
	return s.Int(*to)
}

func optional(s *wirejson.Scanner, to **string) bool {
	text, ok := s.Kept()
	*to = &text
	return ok
}

// entries reads a batch's entries. It leaves a second list of the same name to encoding/json,
// which merges the lists.
func entries[E any](s *wirejson.Scanner, to *[]E, object func(*E) wirejson.Object) bool {
	if *to != nil {
		return false
	}
	*to = make([]E, 0, maxBatch)
	return s.List(func() bool {
		var none E
		*to = append(*to, none)
		return s.Object(object(&(*to)[len(*to)-1]))
	})
}
