package longpoll

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

const maxEntries = 10 // of a batch call

// beats is how extending fares.
type beats struct {
	fail     bool // since the latest call
	incident incident
	tries    int       // that failed since then
	after    time.Time // the next one
}

// sweepEvery is how often held messages are looked through for what is due, and
// an extension that failed is tried again.
func (p *Poller) sweepEvery() time.Duration {
	return min(time.Second, p.queue.visibility/12)
}

// sweepOn has held messages looked through, as long as there are any.
func (p *Poller) sweepOn() {
	if p.sweepAt.IsZero() && len(p.load.byID) > 0 {
		p.sweepAt = time.Now().Add(p.sweepEvery())
	}
}

// sweep does what is due for what is held.
func (p *Poller) sweep(now time.Time) {
	if p.sweepAt.IsZero() || now.Before(p.sweepAt) {
		return
	}
	p.sweepAt = time.Time{}
	p.extendDue(now)
	p.giveUpWaiting(now)
	p.sweepOn()
}

// extendDue extends the visibility of what is held and due, ten to a call.
func (p *Poller) extendDue(now time.Time) {
	if p.cfg.NoHeartbeat || p.beat.Err() != nil || now.Before(p.load.beats.after) {
		return
	}
	var due []*message
	for _, m := range p.load.byID {
		if m.state != toRelease && !m.lost && !m.extending && !m.settling && !m.extendAt.After(now) {
			due = append(due, m)
		}
	}
	if p.load.beats.fail {
		due = due[:min(len(due), maxEntries)] // one call tells whether it works again
	}
	for ten := range slices.Chunk(due, maxEntries) {
		entries := p.extensions(ten, now)
		for i, m := range ten {
			m.extending = true
			m.hiddenBy = now.Add(time.Duration(entries[i].VisibilityTimeout) * time.Second)
		}
		p.counts.Extensions++
		p.call(func() func() {
			errs, err := p.changeVisibility(p.beat, entries)
			return func() { p.extended(ten, entries, errs, err, now) }
		})
	}
}

// extensions makes a call's entries. SQS counts a timeout from the call, and
// allows 12 hours from the receipt in all.
func (p *Poller) extensions(list []*message, now time.Time) []types.ChangeMessageVisibilityBatchRequestEntry {
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(list))
	for i, m := range list {
		left := m.entry.ReceivedAt.Add(maxHeld - settleMargin).Sub(now).Truncate(time.Second)
		entries[i] = entryOf(i, m, max(0, min(p.queue.visibility, left)))
	}
	return entries
}

// entryOf is one entry of a call. Its id is its position: message ids repeat.
func entryOf(i int, m *message, d time.Duration) types.ChangeMessageVisibilityBatchRequestEntry {
	return types.ChangeMessageVisibilityBatchRequestEntry{
		Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.entry.Handle), VisibilityTimeout: int32(d / time.Second),
	}
}

// extended takes what SQS answered to an extension that began at a time. While SQS
// does not answer handlers go on, also beyond the end of their visibility: whether a
// record was lost is SQS's to say, by its first answer.
func (p *Poller) extended(list []*message, entries []types.ChangeMessageVisibilityBatchRequestEntry, errs []error, err error, began time.Time) {
	now := time.Now()
	for i, m := range list {
		m.extending = false
		if m.entry.Handle != *entries[i].ReceiptHandle {
			continue // it was delivered again meanwhile
		}
		switch {
		case errs[i] != nil && !sqserror.Gone(errs[i]):
			m.extendAt = now.Add(p.sweepEvery())
		// After its end SQS accepts the change as well, on a standard queue, and it
		// says nothing about who has the message.
		case errs[i] != nil, !p.fifo() && !now.Before(m.visibleAt):
			if m.state != toRelease && !m.settling && p.load.byID[m.Record.MessageID] == m {
				p.revoke(m)
			}
		default:
			p.extendedTo(m, began, time.Duration(entries[i].VisibilityTimeout)*time.Second)
		}
	}
	p.extending(err)
}

func (p *Poller) extendedTo(m *message, began time.Time, d time.Duration) {
	m.visibleAt = began.Add(d)
	m.extendAt = began.Add(p.queue.visibility / 3)
	if d < p.queue.visibility {
		m.extendAt = m.visibleAt // the last that SQS allows
	}
	if m.state == held {
		p.runner.Extend(&m.Delivery, m.visibleAt)
	}
}

// extending tells when extending begins to fail, and when it works again.
// While it fails it is tried less and less often, down to twelve times in a
// visibility timeout, and every 2 s at most once all of that is over.
func (p *Poller) extending(err error) {
	b, now := &p.load.beats, time.Now()
	switch {
	case p.beat.Err() != nil:
		return
	case err == nil:
		b.tries, b.after = 0, time.Time{}
	case !now.Before(b.after):
		longest := p.queue.visibility / 12
		if b.tries >= 12 {
			longest = max(longest, 2*time.Second)
		}
		b.after = now.Add(min(p.sweepEvery()<<min(b.tries, 12), longest))
		b.tries++
	}
	b.fail = err != nil
	if err != nil {
		if b.incident.fails(now, true) {
			p.warn(batch.Warning{Err: err, Serious: b.incident.serious(now), Message: fmt.Sprintf(
				"extending the records' visibility fails%s: others may receive them while they are handled here; %s", b.incident.soFar(now), advice(err))})
		}
	} else if tell, after := b.incident.works(now); tell {
		p.warn(batch.Warning{Message: "extending the records' visibility works again, " + after})
	}
}

// changeVisibility makes a call, or several where SQS refuses it as a whole. errs
// has what is wrong with the entries, by position; err is that of the calls if none
// of them was answered with success.
func (p *Poller) changeVisibility(ctx context.Context, entries []types.ChangeMessageVisibilityBatchRequestEntry) (errs []error, err error) {
	errs = make([]error, len(entries))
	at := make([]int, len(entries)) // positions, which are the entries' ids
	for i := range at {
		at[i] = i
	}
	worked := false
	sqserror.Divide(at, func(part []int) ([]int, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err = p.observe("ChangeMessageVisibilityBatch", func(c *batch.Call) error {
			c.Entries = len(part)
			out, err := p.cfg.SQS.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{
				QueueUrl: &p.queue.url, Entries: entries[part[0] : part[len(part)-1]+1]}, sqserror.Once)
			for _, k := range part {
				errs[k] = err
			}
			if err != nil {
				c.Failed = len(part)
				return err
			}
			worked = true
			c.Failed, c.Throttled = len(out.Failed), sqserror.ReadAnswer(errs, nil, out.Failed)
			return nil
		})
		return part, err
	})
	if worked {
		err = nil
	}
	return errs, err
}
