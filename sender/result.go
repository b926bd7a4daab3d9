package sender

import (
	"errors"
	"fmt"
	"time"
)

// Result is the final result of a message.
type Result struct {
	// Message is the message as passed to Send or Enqueue. On a FIFO queue it includes the
	// deduplication id: sent again within five minutes, the queue drops the second copy.
	Message Message
	// MessageID is the id that SQS gave the message. Empty if Err is set.
	MessageID string
	// SequenceNumber is the message's number in a FIFO queue.
	SequenceNumber string
	// Err is nil if SQS has confirmed the message. Else it is an [*Error].
	Err error
	// MayHaveBeenSent is set if Err is, and SQS did not answer a try or had an internal error
	// (status 500 and above, or SenderFault false): the queue may have the message.
	MayHaveBeenSent bool
	// Tries is the number of calls with the message.
	Tries int
}

// Error is returned when SQS has not confirmed a message.
type Error struct {
	// Err is the cause: SQS's answer, the cause of a context, an error of Config.Prepare, or
	// an error of this package, such as [ErrClosed], together with the error of the latest
	// try.
	Err error
	// MayHaveBeenSent and Tries are as in [Result].
	MayHaveBeenSent bool
	Tries           int
}

func (e *Error) Error() string {
	switch {
	case e.MayHaveBeenSent:
		return fmt.Sprintf("sender: the message may have been sent (%d tries): %v", e.Tries, e.Err)
	case e.Tries > 0:
		return fmt.Sprintf("sender: the message was not sent (%d tries): %v", e.Tries, e.Err)
	}
	return fmt.Sprintf("sender: the message was not sent: %v", e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrClosed is returned when a message is sent after Close, and is in the results of
	// messages that Close has given up.
	ErrClosed = errors.New("the sender is closed")

	// ErrGroupFailed is returned when an earlier message of the FIFO group failed while this
	// one was in the buffer. The message was not sent. To keep the order, send the failed one
	// again first.
	ErrGroupFailed = errors.New("an earlier message of the FIFO group failed")

	// ErrTooLate is returned when another try could send a message to a FIFO queue twice: an
	// earlier try may have sent it, and the five minutes of SQS's deduplication are almost
	// over.
	ErrTooLate = errors.New("too late for another try without a second copy")
)

// Call is a call of SendMessageBatch, for metrics.
type Call struct {
	// URL is the URL of the queue.
	URL string
	// Entries is the number of messages, and Bytes is their total size.
	Entries, Bytes int
	// Retried is the number of messages that had been in a call before.
	Retried int
	// Waited is the longest time that a message was in the buffer before the call.
	Waited time.Duration
	// Started is the time of the call, and Duration is the time to the answer.
	Started  time.Time
	Duration time.Duration
	// Failed is the number of messages that SQS did not confirm: all of them if Err is set.
	// Throttled is the number of those that SQS throttled, if Err is nil.
	Failed, Throttled int
	// Err is set if the call got no answer from SQS or was refused as a whole.
	Err error
}
