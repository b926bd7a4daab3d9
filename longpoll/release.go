package longpoll

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	releaseTries = 3
	releaseDelay = 200 * time.Millisecond
)

// releaseOutcomes makes records visible at once, and notes that in their
// results. The caller holds the lock.
func (p *Poller) releaseOutcomes(list []outcome) {
	if len(list) == 0 {
		return
	}
	for _, o := range list {
		o.settling = true
	}
	p.settling.calls++
	p.routines.Go(func() {
		messages := make([]*message, len(list))
		for i, o := range list {
			messages[i] = o.message
		}
		released := p.release(messages)
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := range list {
			list[i].result.VisibilitySet = released[i]
		}
		p.settled(list)
		p.settling.calls--
		p.flush(false)
		p.signal()
	})
}

// releaseLater releases messages beside what else is done; a drain waits for
// it. The caller holds the lock.
func (p *Poller) releaseLater(list []*message) {
	if len(list) == 0 {
		return
	}
	p.settling.calls++
	p.routines.Go(func() {
		p.release(list)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settling.calls--
		p.signal()
	})
}

// release makes messages visible at once, whatever becomes of extensions that
// are under way, and reports of which SQS confirmed it. What it cannot make
// visible is so when its visibility timeout is over.
func (p *Poller) release(list []*message) (released []bool) {
	released = make([]bool, len(list))
	if len(list) == 0 {
		return released
	}
	p.awaitExtensions(list)
	left := make([]int, len(list))
	for i := range left {
		left[i] = i
	}
	for try := 1; len(left) > 0; try++ {
		var again []int
		for ten := range slices.Chunk(left, maxEntries) {
			again = append(again, p.releaseTen(list, ten, released)...)
		}
		left = again
		if len(left) == 0 || try == releaseTries || !p.sleep(releaseDelay) {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, m := range list {
		if released[i] {
			p.counts.Released++
		}
		p.forget(m)
	}
	return released
}

// releaseTen makes one call and returns what is worth another.
func (p *Poller) releaseTen(list []*message, ten []int, released []bool) (again []int) {
	p.mu.Lock()
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(ten))
	for i, k := range ten {
		entries[i] = entryOf(i, list[k], 0)
	}
	p.mu.Unlock()
	failures, err := p.changeVisibility(p.base, entries)
	for i, k := range ten {
		switch {
		case err != nil, failures[i] != nil && !isGone(failures[i]):
			again = append(again, k)
		default:
			released[k] = failures[i] == nil
		}
	}
	return again
}

// awaitExtensions waits until no extension of one of list is under way: its
// effect could come after the release's.
func (p *Poller) awaitExtensions(list []*message) {
	for {
		p.mu.Lock()
		busy := slices.ContainsFunc(list, func(m *message) bool { return m.extending })
		p.mu.Unlock()
		if !busy || !p.sleep(10*time.Millisecond) {
			return
		}
	}
}

// sleep waits for d and reports false when the poller ended before.
func (p *Poller) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.base.Done():
		return false
	}
}
