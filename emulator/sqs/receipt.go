package sqs

import (
	"encoding/base64"
	"encoding/binary"
)

// A receipt handle names one receive of one message: the queue, the message, and the number
// of the receive, so that every receive has a new handle.
const receiptBytes = 3 * 8

// receiptHandle returns the handle of m's latest receive.
func (q *queue) receiptHandle(m *message) string {
	var raw [receiptBytes]byte
	binary.BigEndian.PutUint64(raw[:], q.uid)
	binary.BigEndian.PutUint64(raw[8:], m.uid)
	binary.BigEndian.PutUint64(raw[16:], uint64(m.received))
	var text [receiptBytes * 4 / 3]byte
	base64.StdEncoding.Encode(text[:], raw[:])
	return string(text[:])
}

// receipt finds the message of a handle. m is nil when the message is gone;
// latest is false when the message was received again since. A handle that
// this queue never gave out is an error.
func (q *queue) receipt(handle string) (m *message, latest bool, err *apiError) {
	if handle == "" {
		return nil, false, errMissing("ReceiptHandle")
	}
	raw, decodeErr := base64.StdEncoding.DecodeString(handle)
	if decodeErr != nil || len(raw) != receiptBytes || binary.BigEndian.Uint64(raw) != q.uid {
		return nil, false, errReceipt(handle)
	}
	m = q.messages[binary.BigEndian.Uint64(raw[8:])]
	if m == nil {
		return nil, false, nil
	}
	return m, binary.BigEndian.Uint64(raw[16:]) == uint64(m.received), nil
}
