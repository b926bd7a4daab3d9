package longpoll

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// message is a delivery that this poller holds. The runner owns its Delivery until that has
// finished; the loop owns the rest.
type message struct {
	runner.Delivery
	receipt *receipt

	entry settle.Entry // its Latest is what counts: SQS may deliver a message twice

	// Both count from when it was received last.
	hiddenFor time.Duration // by SQS from others, unless it is extended
	extended  time.Duration // the longest that SQS may hide it: with an extension whose answer is missing

	state     state
	lost      bool // others may have it: SQS refused to extend it, or its visibility is over
	extending bool // a call that extends it is under way
	notified  bool // the hooks' results have it
}

// visibleAt is when SQS shows m to others, unless it is extended.
func (m *message) visibleAt() time.Time { return m.entry.Latest.ReceivedAt.Add(m.hiddenFor) }

// state is what a message waits for.
type state uint8

const (
	held     state = iota // for its handler
	toDelete              // handled; it is to be deleted
	toReturn              // failed, skipped or not started; SQS is to be told when to show it
)

// receipt is what was received together: a record of a standard queue, or those of a
// FIFO group. For the hooks it is a batch. The loop owns it, but for its Batch.
type receipt struct {
	runner.Batch
	results []batch.Result
	open    int // records that are not settled
}

// newReceipt returns one for n messages. It has one allocation for the usual receipt.
func newReceipt(n int) (*receipt, []message) {
	if n == 1 {
		var single struct {
			receipt
			messages [1]message
			results  [1]batch.Result
			records  [1]batch.Record
		}
		one := &single
		one.receipt.results, one.Records = one.results[:], one.records[:]
		return &one.receipt, one.messages[:]
	}
	r := &receipt{results: make([]batch.Result, n)}
	r.Records = make([]batch.Record, n)
	return r, make([]message, n)
}

// receiptOf makes a receipt of what was received together.
func (p *Poller) receiptOf(received []types.Message, at time.Time) []message {
	r, messages := newReceipt(len(received))
	r.open, r.Info.Records = len(received), len(received)
	cutoff := at.Add(settle.MaxVisibility - settleMargin)
	if p.cfg.NoHeartbeat {
		deadline, margin := at.Add(p.queue.visibility), noHeartbeatMargin(p.queue.visibility)
		cutoff = deadline.Add(-margin)
		r.Info.Times = batch.Times{Deadline: deadline, Cutoff: cutoff, SettleBy: deadline.Add(-margin / 4)}
	}
	r.Info.QueueARN = p.queue.arn
	for i := range received {
		m := &messages[i]
		r.Records[i] = p.recordOf(&received[i], at)
		m.receipt, m.Owner, m.entry.Owner = r, m, m
		m.Record, m.Result, m.Batch = &r.Records[i], &r.results[i], &r.Batch
		m.Result.Record, m.entry.Result, m.entry.Latest = m.Record, m.Result, m.Record
		m.Lease, m.Within = p.queue.visibility, cutoff.Sub(at)
		m.hiddenFor = m.Lease
	}
	return messages
}

// settleMargin is kept of the 12 hours for settling, and at most of a visibility timeout.
const settleMargin = 5 * time.Second

// noHeartbeatMargin is kept of a visibility timeout for settling.
func noHeartbeatMargin(visibility time.Duration) time.Duration {
	return min(visibility/10, settleMargin)
}

// recordOf makes a record of a message.
func (p *Poller) recordOf(m *types.Message, at time.Time) batch.Record {
	r := batch.Record{
		MessageID:              aws.ToString(m.MessageId),
		ReceiptHandle:          aws.ToString(m.ReceiptHandle),
		Body:                   aws.ToString(m.Body),
		MD5OfBody:              aws.ToString(m.MD5OfBody),
		MD5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
		QueueARN:               p.queue.arn,
		Region:                 p.queue.region,
		ReceivedAt:             at,
	}
	for name, value := range m.Attributes {
		attribute.Set(&r, name, value)
	}
	if len(m.MessageAttributes) > 0 {
		r.MessageAttributes = make(map[string]batch.MessageAttribute, len(m.MessageAttributes))
		for name, a := range m.MessageAttributes {
			r.MessageAttributes[name] = batch.MessageAttribute{
				DataType: aws.ToString(a.DataType), StringValue: aws.ToString(a.StringValue), BinaryValue: a.BinaryValue,
			}
		}
	}
	return r
}

// recent remembers messages that were handled and deleted: the latest maxRecent of them, and
// some before those.
type recent struct{ latest, earlier map[string]struct{} }

const maxRecent = 5000

func (r *recent) has(id string) bool {
	_, latest := r.latest[id]
	_, earlier := r.earlier[id]
	return latest || earlier
}

func (r *recent) add(id string) {
	if r.latest == nil || len(r.latest) == maxRecent {
		r.earlier, r.latest = r.latest, make(map[string]struct{})
	}
	r.latest[id] = struct{}{}
}
