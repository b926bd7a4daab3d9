package lambda

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// The two calls that a mapping makes for every batch are written, and their
// usual answers read, without encoding/json. Names are the protocol's, and
// zeroes that are not required are left out, as the SDK does.

type directReceive awssqs.ReceiveMessageInput

func (in *directReceive) json() []byte {
	b := plainjson.AppendString(append(make([]byte, 0, 384), `{"QueueUrl":`...), aws.ToString(in.QueueUrl))
	number := func(name string, n int32) {
		if n != 0 {
			b = strconv.AppendInt(append(b, name...), int64(n), 10)
		}
	}
	number(`,"MaxNumberOfMessages":`, in.MaxNumberOfMessages)
	number(`,"WaitTimeSeconds":`, in.WaitTimeSeconds)
	number(`,"VisibilityTimeout":`, in.VisibilityTimeout)
	if in.ReceiveRequestAttemptId != nil {
		b = plainjson.AppendString(append(b, `,"ReceiveRequestAttemptId":`...), *in.ReceiveRequestAttemptId)
	}
	b = appendList(b, `,"MessageAttributeNames":`, in.MessageAttributeNames)
	b = appendList(b, `,"MessageSystemAttributeNames":`, in.MessageSystemAttributeNames)
	return append(b, '}')
}

func appendList[T ~string](b []byte, name string, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(b, name...), '[')
	for i, text := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = plainjson.AppendString(b, string(text))
	}
	return append(b, ']')
}

type directDelete awssqs.DeleteMessageBatchInput

func (in *directDelete) json() []byte {
	b := plainjson.AppendString(append(make([]byte, 0, 128+80*len(in.Entries)), `{"QueueUrl":`...), aws.ToString(in.QueueUrl))
	b = append(b, `,"Entries":[`...)
	for i, e := range in.Entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = plainjson.AppendString(append(b, `{"Id":`...), aws.ToString(e.Id))
		b = plainjson.AppendString(append(b, `,"ReceiptHandle":`...), aws.ToString(e.ReceiptHandle))
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// received reads ReceiveMessage's answer; one with message attributes is not
// usual.
type received awssqs.ReceiveMessageOutput

func plainReceived(out *awssqs.ReceiveMessageOutput) plainjson.Object { return (*received)(out) }

func (out *received) Member(s *plainjson.Scanner, name string) bool {
	if name != "Messages" || out.Messages != nil {
		return false
	}
	out.Messages = []types.Message{}
	return s.List(func() bool {
		out.Messages = append(out.Messages, types.Message{})
		return s.Object((*receivedMessage)(&out.Messages[len(out.Messages)-1]))
	})
}

type receivedMessage types.Message

func (m *receivedMessage) Member(s *plainjson.Scanner, name string) bool {
	switch name {
	case "MessageId":
		return text(s, &m.MessageId)
	case "ReceiptHandle":
		return text(s, &m.ReceiptHandle)
	case "MD5OfBody":
		return text(s, &m.MD5OfBody)
	case "Body":
		return text(s, &m.Body)
	case "Attributes":
		if m.Attributes != nil {
			return false
		}
		m.Attributes = make(map[string]string, 4)
		return s.Object(textMap(m.Attributes))
	}
	return false
}

type textMap map[string]string

func (m textMap) Member(s *plainjson.Scanner, name string) (ok bool) {
	m[name], ok = s.Text()
	return ok
}

// deleted reads DeleteMessageBatch's answer; one with failures is not usual.
type deleted awssqs.DeleteMessageBatchOutput

func plainDeleted(out *awssqs.DeleteMessageBatchOutput) plainjson.Object { return (*deleted)(out) }

func (out *deleted) Member(s *plainjson.Scanner, name string) bool {
	if name != "Successful" || out.Successful != nil {
		return false
	}
	out.Successful = []types.DeleteMessageBatchResultEntry{}
	return s.List(func() bool {
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{})
		return s.Object((*deletedEntry)(&out.Successful[len(out.Successful)-1]))
	})
}

type deletedEntry types.DeleteMessageBatchResultEntry

func (e *deletedEntry) Member(s *plainjson.Scanner, name string) bool {
	return name == "Id" && text(s, &e.Id)
}

func text(s *plainjson.Scanner, to **string) bool {
	t, ok := s.Text()
	*to = &t
	return ok
}
