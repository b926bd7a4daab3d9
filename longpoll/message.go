package longpoll

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// message is a delivery that this poller holds. Its fields are guarded by the
// poller's lock.
type message struct {
	chain *chain
	index int // in the chain

	// Of the latest delivery: SQS may deliver a message again while it is held.
	handle     string
	receivedAt time.Time
	visibleAt  time.Time // when SQS shows it to others, unless it is extended
	extendAt   time.Time // when to extend it
	backAt     time.Time // when to show it again once it is given back; zero for at once

	state     state
	lost      bool // SQS refused to extend it: others may have it
	extending bool // a call that extends it is under way
	settling  bool // a call that settles it is under way, or due next
	told      bool // the hooks' results have it
	asked     bool // and a settlement has asked which attempt is its last
	tries     int  // deletes that failed
}

// state is how far a message has come.
type state uint8

const (
	waiting state = iota // for a slot
	begun                // its chain has a slot
	done                 // handled; it is to be deleted
	failed               // not handled; it is to be made visible
)

func (m *message) record() *batch.Record { return &m.chain.records[m.index] }

// chain is what is handled one after another: a record of a standard queue, or
// those of a FIFO group that came together.
type chain struct {
	group    string // "" unless FIFO
	records  []batch.Record
	messages []message

	opened   bool                       // the hooks were told that it begins
	handed   bool                       // the engine has it
	over     time.Time                  // when its latest record had its outcome
	started  time.Time                  // zero until it got a slot
	ctx      context.Context            // of the batch that it is; nil until the hooks were told
	times    *batch.Times               // nil for none
	running  *batch.Running             // nil until it was started
	canceled bool                       // when it was to be cancelled before that
	lost     bool                       // because others may have what ran of it
	aborted  error                      // of what is not started of it any more, see heed
	ended    bool                       // the engine has no more to do with it
	open     int                        // records that are not settled
	results  []batch.Result             // of those that are
	unasked  bool                       // one was not done, and not settled by the settler
	burial   *partialfailure.Settlement // under way; nil for none
}

// info is what the hooks are told of c.
func (c *chain) info() batch.BatchInfo {
	info := batch.BatchInfo{Records: len(c.records), QueueARN: c.records[0].QueueARN, Started: c.started}
	if c.times != nil {
		info.Times = *c.times
	}
	return info
}

// chains makes chains of what one receive returned, in its order.
func (p *Poller) chains(received []types.Message, at time.Time) []*chain {
	var list []*chain
	groups := map[string]*chain{}
	for i := range received {
		r := p.recordOf(&received[i], at)
		if r.MessageID == "" || r.ReceiptHandle == "" {
			continue // it can be neither told apart nor settled: SQS shows it again
		}
		group := ""
		if r.FIFO() {
			group = r.GroupID
		}
		c := groups[group]
		if c == nil || group == "" {
			c = &chain{group: group}
			groups[group] = c
			list = append(list, c)
		}
		c.records = append(c.records, r)
	}
	for _, c := range list {
		c.messages = make([]message, len(c.records))
		c.open = len(c.records)
		for i := range c.messages {
			c.messages[i] = message{
				chain: c, index: i, handle: c.records[i].ReceiptHandle, receivedAt: at,
				visibleAt: at.Add(p.queue.visibility), extendAt: at.Add(p.queue.visibility / 3),
			}
		}
	}
	return list
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
