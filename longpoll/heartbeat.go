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

// sweepEvery is how often held messages are looked through for what is due, and
// an extension that failed is tried again.
func (p *Poller) sweepEvery() time.Duration { return min(time.Second, p.queue.visibility/12) }

// sweepOn has held messages looked through, as long as there are any. The
// caller holds the lock, here and below.
func (p *Poller) sweepOn() {
	if p.sweep != nil || len(p.load.byID)+len(p.settling.again) == 0 || p.phase == stopped {
		return
	}
	every := p.sweepEvery()
	if p.phase != polling {
		every /= 4 // what a stop has to settle is tried again soon
	}
	p.sweep = time.AfterFunc(every, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sweep = nil
		if p.phase == stopped {
			return
		}
		now := time.Now()
		p.retryDue(now)
		p.extendDue(now)
		p.giveUpWaiting(now)
		p.receiveMore() // slots may be idle beside others that take long
		p.sweepOn()
	})
}

// extendDue extends the visibility of what is held and due, ten to a call.
func (p *Poller) extendDue(now time.Time) {
	if p.cfg.NoHeartbeat || p.beat.Err() != nil || now.Before(p.load.extendAfter) {
		return
	}
	var due []*message
	for _, m := range p.load.byID {
		if m.state != failed && !m.lost && !m.extending && !m.settling && !m.extendAt.After(now) {
			due = append(due, m)
		}
	}
	if p.load.extensionsFail {
		due = due[:min(len(due), maxEntries)] // one call tells whether it works again
	}
	for ten := range slices.Chunk(due, maxEntries) {
		for _, m := range ten {
			m.extending = true
		}
		entries := p.extensions(ten, now)
		p.counts.Extensions++
		p.routines.Go(func() { p.called(p.extend(ten, entries, now)...) })
	}
}

// extensions makes a call's entries. SQS counts a timeout from the call, and
// allows 12 hours from the receipt in all.
func (p *Poller) extensions(list []*message, now time.Time) []types.ChangeMessageVisibilityBatchRequestEntry {
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(list))
	for i, m := range list {
		left := m.receivedAt.Add(maxHeld - settleMargin).Sub(now).Truncate(time.Second)
		entries[i] = entryOf(i, m, max(0, min(p.queue.visibility, left)))
	}
	return entries
}

// entryOf is one entry of a call. Its id is its position: message ids repeat.
func entryOf(i int, m *message, d time.Duration) types.ChangeMessageVisibilityBatchRequestEntry {
	return types.ChangeMessageVisibilityBatchRequestEntry{
		Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.handle), VisibilityTimeout: int32(d / time.Second),
	}
}

// extend makes one call and notes its answers.
func (p *Poller) extend(list []*message, entries []types.ChangeMessageVisibilityBatchRequestEntry, began time.Time) []batch.Call {
	errs, calls, err := p.changeVisibility(p.beat, entries)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for i, m := range list {
		m.extending = false
		if m.handle != *entries[i].ReceiptHandle {
			continue // it was delivered again meanwhile
		}
		switch {
		case errs[i] != nil && !sqserror.Gone(errs[i]):
			m.extendAt = now.Add(p.sweepEvery())
		// After its end SQS accepts the change as well, on a standard queue, and it
		// says nothing about who has the message.
		case errs[i] != nil, !p.fifo() && !now.Before(m.visibleAt):
			if m.state != failed && !m.settling && p.load.byID[m.record().MessageID] == m {
				p.lose(m)
			}
		default:
			visible := time.Duration(entries[i].VisibilityTimeout) * time.Second
			m.visibleAt = began.Add(visible)
			m.extendAt = began.Add(p.queue.visibility / 3)
			if visible < p.queue.visibility {
				m.extendAt = m.visibleAt // the last that SQS allows
			}
		}
	}
	p.extended(err)
	p.flush(false) // what waited for the answer
	p.signal()
	return calls
}

// extended tells when extending begins to fail, and when it works again.
// While it fails it is tried less and less often, down to twelve times in a
// visibility timeout, and every 2 s at most once all of that is over.
func (p *Poller) extended(err error) {
	l, now := &p.load, time.Now()
	switch {
	case p.beat.Err() != nil:
		return
	case err == nil:
		l.extensionTries, l.extendAfter = 0, time.Time{}
	case !now.Before(l.extendAfter):
		longest := p.queue.visibility / 12
		if l.extensionTries >= 12 {
			longest = max(longest, 2*time.Second)
		}
		l.extendAfter = now.Add(min(p.sweepEvery()<<min(l.extensionTries, 12), longest))
		l.extensionTries++
	}
	l.extensionsFail = err != nil
	if err != nil {
		if l.extensionLine.fails(now, true) {
			p.warn(batch.Warning{Err: err, Serious: l.extensionLine.serious(now), Message: fmt.Sprintf(
				"extending the records' visibility fails%s: others may receive them while they are handled here; %s", l.extensionLine.soFar(now), advice(err))})
		}
	} else if tell, after := l.extensionLine.works(now); tell {
		p.warn(batch.Warning{Message: "extending the records' visibility works again, " + after})
	}
}

// changeVisibility makes a call, or several where SQS refuses it as a whole. errs
// has what is wrong with the entries, by position; err is that of the calls if none
// of them was answered with success.
func (p *Poller) changeVisibility(ctx context.Context, entries []types.ChangeMessageVisibilityBatchRequestEntry) (errs []error, calls []batch.Call, err error) {
	errs = make([]error, len(entries))
	at := make([]int, len(entries)) // positions, which are the entries' ids
	for i := range at {
		at[i] = i
	}
	worked := false
	sqserror.Divide(at, func(part []int) ([]int, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		call := p.call("ChangeMessageVisibilityBatch")
		call.Entries = len(part)
		var out *sqs.ChangeMessageVisibilityBatchOutput
		out, err = p.cfg.SQS.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: &p.queue.url, Entries: entries[part[0] : part[len(part)-1]+1]}, sqserror.Once)
		answered(&call, err)
		for _, k := range part {
			errs[k] = err
		}
		if err != nil {
			call.Failed = len(part)
		} else {
			call.Failed, worked = len(out.Failed), true
			for i := range out.Failed {
				if sqserror.KindOf(aws.ToString(out.Failed[i].Code)) == sqserror.Throttled {
					call.Throttled++
				}
				if k, err := strconv.Atoi(aws.ToString(out.Failed[i].Id)); err == nil && k >= 0 && k < len(errs) {
					errs[k] = sqserror.OfEntry(out.Failed[i])
				}
			}
		}
		calls = append(calls, call)
		return part, err
	})
	if worked {
		err = nil
	}
	return errs, calls, err
}
