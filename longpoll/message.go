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

// message is a delivery that this poller holds. The runner owns the part that is its
// own until it has finished; the loop owns the rest.
type message struct {
	runner.Delivery
	receipt *receipt

	entry     settle.Entry // with what came with the latest delivery: SQS may deliver a message twice
	visibleAt time.Time    // when SQS shows it to others, unless it is extended
	hiddenBy  time.Time    // when at the latest, if an extension took effect that was not answered
	extendAt  time.Time    // when to extend it

	state     state
	lost      bool // SQS refused to extend it: others may have it
	extending bool // a call that extends it is under way
	settling  bool // the settler has it, or is about to
	told      bool // the hooks' results have it
}

// state is what a message waits for.
type state uint8

const (
	held      state = iota // for its handler
	toDelete               // handled; it is to be deleted
	toRelease              // not handled; it is to be made visible
)

// receipt is what was received together: a record of a standard queue, or those of a
// FIFO group. For the hooks it is a batch.
type receipt struct {
	runner.Batch
	messages []message
	results  []batch.Result
	open     int // records that are not settled
}

// newReceipt makes one of n messages, each tied to its record and result.
func newReceipt(n int, info batch.BatchInfo) *receipt {
	r := allocate(n)
	r.Info, r.open = info, n
	r.Info.Records = n
	for i := range r.messages {
		m := &r.messages[i]
		m.receipt, m.Owner, m.entry.Owner = r, m, m
		m.Record, m.Result, m.Batch = &r.Records[i], &r.results[i], &r.Batch
		m.Result.Record, m.entry.Result = m.Record, m.Result
	}
	return r
}

// allocate has one allocation for the usual receipt.
func allocate(n int) *receipt {
	if n == 1 {
		var single struct {
			receipt
			messages [1]message
			results  [1]batch.Result
			records  [1]batch.Record
		}
		one := &single
		one.receipt.messages, one.receipt.results, one.Records = one.messages[:], one.results[:], one.records[:]
		return &one.receipt
	}
	r := &receipt{messages: make([]message, n), results: make([]batch.Result, n)}
	r.Records = make([]batch.Record, n)
	return r
}

// receipts makes receipts of what one receive returned, in its order.
func (p *Poller) receipts(received []types.Message, at time.Time) (list []*receipt) {
	groups := map[string][]types.Message{}
	var order []string
	for i := range received {
		m := &received[i]
		if aws.ToString(m.MessageId) == "" || aws.ToString(m.ReceiptHandle) == "" {
			continue // it cannot be settled: SQS shows it again
		}
		if !p.fifo() {
			list = append(list, p.receiptOf(received[i:i+1], at))
			continue
		}
		group := m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], *m)
	}
	for _, group := range order {
		list = append(list, p.receiptOf(groups[group], at))
	}
	return list
}

func (p *Poller) receiptOf(received []types.Message, at time.Time) *receipt {
	info := batch.BatchInfo{QueueARN: p.queue.arn}
	cutoff := at.Add(maxHeld - settleMargin)
	if p.cfg.NoHeartbeat {
		deadline, margin := at.Add(p.queue.visibility), noHeartbeatMargin(p.queue.visibility)
		cutoff = deadline.Add(-margin)
		info.Times = batch.Times{Deadline: deadline, Cutoff: cutoff, SettleBy: deadline.Add(-margin / 4)}
	}
	r := newReceipt(len(received), info)
	for i := range received {
		m := &r.messages[i]
		*m.Record = p.recordOf(&received[i], at)
		m.entry.Handle, m.entry.ReceivedAt = m.Record.ReceiptHandle, at
		m.Last = m.Record.FIFO() && p.policy.LastAttempt(m.Record)
		m.visibleAt, m.extendAt = at.Add(p.queue.visibility), at.Add(p.queue.visibility/3)
		m.Lease, m.Within = p.queue.visibility, cutoff.Sub(at)
	}
	return r
}

const (
	maxHeld      = 12 * time.Hour // for which SQS leaves a message with a receiver
	settleMargin = 5 * time.Second
)

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

// recent remembers the latest messages that were handled and deleted.
type recent struct {
	ids  map[string]struct{}
	ring []string
	next int
}

const maxRecent = 10_000

func (r *recent) has(id string) bool {
	_, ok := r.ids[id]
	return ok
}

func (r *recent) add(id string) {
	if r.has(id) {
		return
	}
	if r.ids == nil {
		r.ids = make(map[string]struct{})
	}
	r.ids[id] = struct{}{}
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, id)
		return
	}
	delete(r.ids, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % maxRecent
}
