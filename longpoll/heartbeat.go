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
	p.sweep = time.AfterFunc(p.sweepEvery(), func() {
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
		p.routines.Go(func() { p.called(p.extend(ten, entries, now)) })
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
func (p *Poller) extend(list []*message, entries []types.ChangeMessageVisibilityBatchRequestEntry, began time.Time) batch.Call {
	failures, call := p.changeVisibility(p.beat, entries)
	err := call.Err
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for i, m := range list {
		m.extending = false
		if m.handle != *entries[i].ReceiptHandle {
			continue // it was delivered again meanwhile
		}
		switch failure := failures[i]; {
		case err != nil, failure != nil && !isGone(failure):
			m.extendAt = now.Add(p.sweepEvery())
		case failure != nil:
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
	return call
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

// isGone reports whether SQS says that a message is no longer this receiver's.
func isGone(f *types.BatchResultErrorEntry) bool {
	return sqserror.Gone(aws.ToString(f.Code))
}

// changeVisibility makes one call; failures has what SQS refused, by position.
func (p *Poller) changeVisibility(ctx context.Context, entries []types.ChangeMessageVisibilityBatchRequestEntry) (failures []*types.BatchResultErrorEntry, call batch.Call) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	failures = make([]*types.BatchResultErrorEntry, len(entries))
	call = p.call("ChangeMessageVisibilityBatch")
	call.Entries = len(entries)
	out, err := p.cfg.SQS.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &p.queue.url, Entries: entries}, once)
	answered(&call, err)
	if err != nil {
		call.Failed = len(entries)
		return failures, call
	}
	call.Failed = len(out.Failed)
	for i := range out.Failed {
		if sqserror.KindOf(aws.ToString(out.Failed[i].Code)) == sqserror.Throttled {
			call.Throttled++
		}
		if k, err := strconv.Atoi(aws.ToString(out.Failed[i].Id)); err == nil && k >= 0 && k < len(failures) {
			failures[k] = &out.Failed[i]
		}
	}
	return failures, call
}
