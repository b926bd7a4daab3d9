package sqs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	// maxMessageBytes limits a message and a batch: body, attribute names, types and
	// values.
	maxMessageBytes = 1 << 20
	maxDelaySeconds = 900
)

type sendEntry struct {
	ID                      string `json:"Id"`
	MessageBody             string
	DelaySeconds            *int
	MessageAttributes       map[string]attributeValue
	MessageSystemAttributes map[string]attributeValue
	MessageGroupID          *string `json:"MessageGroupId"`
	MessageDeduplicationID  *string `json:"MessageDeduplicationId"`
}

type sendAnswer struct {
	id                  string // the entry's id; "" outside of batches
	messageID           string
	bodyMD5             string
	attributesMD5       string
	systemAttributesMD5 string
	sequenceNumber      string
}

type sendRequest struct {
	queueRequest
	sendEntry
}

func (s *Server) sendMessage(c *call, in *sendRequest) (any, error) {
	c.messages = 1
	d := in.sendEntry.draft(c.trace)
	d.answer.id = "" // only entries of a batch have one
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		return s.send(q, d, now)
	})
}

type sendBatch struct {
	queueRequest
	Entries []sendEntry
}

func (s *Server) sendMessageBatch(c *call, in *sendBatch) (any, error) {
	if err := checkBatch(in.Entries, func(e sendEntry) string { return e.ID }); err != nil {
		return nil, err
	}
	drafts := make([]*draft, len(in.Entries))
	total := 0
	for i := range in.Entries {
		drafts[i] = in.Entries[i].draft(c.trace)
		total += drafts[i].size
	}
	if most := s.options.MaxBatchBytes; total > most {
		return nil, modelled("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", most, total)
	}
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		if err := q.checkBatchIDs(drafts); err != nil {
			return nil, err
		}
		answer := newBatchAnswer(len(drafts))
		for _, d := range drafts {
			var sent *sendAnswer
			err := s.entry(c, func() (err *apiError) {
				sent, err = s.send(q, d, now)
				return err
			})
			answer.add(c, d.answer.id, sent, err)
		}
		return answer, nil
	})
}

// pastSend is a send that a later one may duplicate.
type pastSend struct {
	messageID string
	sequence  uint64
}

// draft is a message that is not in a queue yet. The checks and hashes that need no queue are
// done without the lock.
type draft struct {
	content *content
	answer  sendAnswer
	size    int
	delay   *int
	err     *apiError
}

// draft returns the entry's message. header is the request's trace header, for messages without
// AWSTraceHeader (X-Ray developer guide, "Amazon SQS and AWS X-Ray").
func (in *sendEntry) draft(header string) *draft {
	d := &draft{delay: in.DelaySeconds, size: len(in.MessageBody)}
	d.answer.id = in.ID
	attributesSize, err := checkAttributes(in.MessageAttributes)
	d.size += attributesSize
	trace, traceErr := checkSystemAttributes(in.MessageSystemAttributes)
	switch {
	case in.MessageBody == "":
		d.err = errMissing("MessageBody")
	case d.delay != nil && (*d.delay < 0 || *d.delay > maxDelaySeconds):
		d.err = errValue(*d.delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	case !validText(in.MessageBody):
		d.err = modelled("InvalidMessageContents", "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.")
	case err != nil:
		d.err = err
	case traceErr != nil:
		d.err = traceErr
	case in.MessageGroupID != nil && !validToken(*in.MessageGroupID):
		d.err = errToken(*in.MessageGroupID, "MessageGroupId")
	case in.MessageDeduplicationID != nil && !validToken(*in.MessageDeduplicationID):
		d.err = errToken(*in.MessageDeduplicationID, "MessageDeduplicationId")
	}
	if d.err != nil {
		return d
	}
	d.answer.bodyMD5 = md5Hex([]byte(in.MessageBody))
	d.answer.attributesMD5 = attributesMD5(in.MessageAttributes)
	d.answer.systemAttributesMD5 = attributesMD5(in.MessageSystemAttributes)
	if trace == "" && validText(header) {
		trace = header
	}
	d.content = &content{
		body: in.MessageBody, bodyMD5: d.answer.bodyMD5,
		attributes: in.MessageAttributes, traceHeader: trace,
		groupID: aws.ToString(in.MessageGroupID), deduplicationID: aws.ToString(in.MessageDeduplicationID),
	}
	return d
}

// checkSystemAttributes returns AWSTraceHeader, the only system attribute.
func checkSystemAttributes(attributes map[string]attributeValue) (trace string, err *apiError) {
	for name, value := range attributes {
		if name != "AWSTraceHeader" {
			return "", errInvalidParameter("Message system attribute name '%s' is invalid: only AWSTraceHeader is allowed.", name)
		}
		if value.DataType != "String" {
			return "", errInvalidParameter("Message system attribute AWSTraceHeader is invalid: its type must be String.")
		}
		if err := value.check(name); err != nil {
			return "", err
		}
		trace = *value.StringValue
	}
	return trace, nil
}

// validToken reports whether a group, deduplication or receive attempt id is valid: 1 to 128
// letters, digits and ASCII punctuation.
func validToken(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func errToken(value, parameter string) *apiError {
	return errValue(value, parameter, parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// send enqueues a message, unless it is a duplicate.
func (s *Server) send(q *queue, d *draft, now time.Time) (*sendAnswer, *apiError) {
	if d.err != nil {
		return nil, d.err
	}
	if d.size > q.settings.maxBytes {
		verdict := "are invalid"
		if d.answer.id != "" {
			verdict = "cannot be validated"
		}
		return nil, errInvalidParameter("One or more parameters %s. Reason: Message must be shorter than %d bytes.", verdict, q.settings.maxBytes)
	}
	delay := q.settings.delay
	if d.delay != nil && !q.fifo {
		delay = time.Duration(*d.delay) * time.Second
	}
	key := ""
	if q.fifo {
		if err := q.checkFIFO(d); err != nil {
			return nil, err
		}
		key = d.content.deduplicationID
		if q.settings.deduplicateByGroup {
			key = d.content.groupID + " " + key // no id has a space
		}
		if past, ok := q.sentEarlier.find(key, now); ok {
			d.answer.messageID, d.answer.sequenceNumber = past.messageID, sequenceNumber(past.sequence)
			if q.observer != nil {
				d.content.id = past.messageID
				q.observe(Duplicate, &message{content: d.content, sequence: past.sequence}, now)
			}
			return &d.answer, nil
		}
	} else if d.content.deduplicationID != "" {
		return nil, errValue(d.content.deduplicationID, "MessageDeduplicationId", "The request include parameter that is not valid for this queue type.")
	}
	s.lastUID++
	d.content.id = newID()
	m := &message{content: d.content, uid: s.lastUID, sent: now, slot: -1, ageSlot: -1}
	q.add(m, now, delay)
	if q.fifo {
		q.sentEarlier.remember(key, pastSend{m.content.id, m.sequence}, now)
	}
	d.answer.messageID, d.answer.sequenceNumber = d.content.id, sequenceNumber(m.sequence)
	q.observe(Sent, m, now)
	return &d.answer, nil
}

// checkBatchIDs returns the error of a batch that fails as a whole on a FIFO queue: an entry has
// no group id, or no deduplication id although one is required. AWS does so, but does not
// document it.
func (q *queue) checkBatchIDs(drafts []*draft) *apiError {
	for _, d := range drafts {
		if !q.fifo || d.err != nil {
			continue
		}
		if d.content.groupID == "" {
			return errInvalidParameter("The request must contain the parameter MessageGroupId.")
		}
		if d.content.deduplicationID == "" && !q.settings.contentDeduplication {
			return errNoDeduplicationID()
		}
	}
	return nil
}

func errNoDeduplicationID() *apiError {
	return errInvalidParameter("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
}

// checkFIFO applies the rules for messages of FIFO queues and sets a missing deduplication id to
// the body's hash.
func (q *queue) checkFIFO(d *draft) *apiError {
	switch {
	case d.content.groupID == "":
		return errMissing("MessageGroupId")
	case d.delay != nil && *d.delay != 0:
		return errValue(*d.delay, "DelaySeconds", "The request include parameter that is not valid for this queue type.")
	case d.content.deduplicationID != "":
	case q.settings.contentDeduplication:
		sum := sha256.Sum256([]byte(d.content.body))
		d.content.deduplicationID = hex.EncodeToString(sum[:])
	default:
		return errNoDeduplicationID()
	}
	return nil
}
