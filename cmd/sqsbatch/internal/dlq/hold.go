package dlq

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

const (
	// hidden is how long a received message is hidden. It is short, because a process that
	// is killed gives nothing back.
	hidden = 2 * time.Minute
	// extendAfter is when the time of a message that is still held begins anew.
	extendAfter = hidden / 2
	// holdLimit is how many messages are held at most. Another reader has room besides.
	holdLimit = queue.MaxInFlight - 1000
	// holdCalls is how many calls extend or release messages at the same time.
	holdCalls = 16
)

// A hold keeps messages hidden from everyone until they are deleted or released.
type hold struct {
	queue   *queue.Queue
	mu      sync.Mutex
	byID    map[string]*held
	deleted ids
}

type held struct {
	id, handle string
	receives   int       // ApproximateReceiveCount that came with handle
	due        time.Time // when its time is to be extended
}

// add holds messages that were received now, and returns those that were not held already.
// SQS may deliver a message twice; the later handle counts, and the receive count says which
// one that is: answers may come in another order.
func (h *hold) add(letters []letter.Letter) (fresh []letter.Letter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := time.Now().Add(extendAfter)
	return slices.DeleteFunc(letters, func(l letter.Letter) bool {
		m := h.byID[l.ID]
		if m == nil {
			h.byID[l.ID] = &held{l.ID, l.Handle, l.Attempt, due}
		} else if l.Attempt >= m.receives {
			m.handle, m.receives = l.Handle, l.Attempt
		}
		return m != nil
	})
}

// drop forgets a message that was deleted by a handle. first is false if it was deleted
// before. ok is false if it was received once more meanwhile: SQS has then confirmed the
// deletion without deleting it.
func (h *hold) drop(id, handle string) (first, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.byID[id]; m != nil && m.handle != handle {
		return false, false
	}
	delete(h.byID, id)
	first = !h.deleted.has(id)
	h.deleted.add(id)
	return first, true
}

// wasDeleted reports whether a message was deleted, by this run or by the one that it goes
// on with. SQS may deliver it once more.
func (h *hold) wasDeleted(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deleted.has(id)
}

// handle is the latest receipt handle of a message.
func (h *hold) handle(l *letter.Letter) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.byID[l.ID]; m != nil {
		return m.handle
	}
	return l.Handle // no longer held
}

func (h *hold) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byID)
}

// extend extends the time of what is held until soft ends. Calls that it has made then are
// not cut off, since SQS might carry one out after the message was released.
func (h *hold) extend(soft, kill context.Context) {
	for sleep.For(soft, time.Second) {
		for part := range slices.Chunk(h.due(time.Now()), extendAtOnce) {
			if soft.Err() == nil {
				h.hide(kill, part, hidden)
			}
		}
	}
}

// extendAtOnce is how many messages are extended before the end of a run is looked for.
const extendAtOnce = 100 * holdCalls

// due takes messages whose time is to be extended by now, the most urgent first.
func (h *hold) due(now time.Time) (list []*held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.byID {
		if !m.due.After(now) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *held) int { return a.due.Compare(b.due) })
	for _, m := range list {
		m.due = now.Add(extendAfter)
	}
	return list
}

// release makes everything visible that is held, and returns how many messages could not
// be released. They become visible when their time is over.
func (h *hold) release(ctx context.Context) (failed int) {
	h.mu.Lock()
	list := slices.Collect(maps.Values(h.byID))
	h.mu.Unlock()
	return h.hide(ctx, list, 0)
}

// hide sets how long messages are hidden. One that another reader has received since, or
// deleted, is no longer held.
func (h *hold) hide(ctx context.Context, list []*held, d time.Duration) (failed int) {
	var calls errgroup.Group
	calls.SetLimit(holdCalls)
	for part := range slices.Chunk(list, 10) {
		calls.Go(func() error {
			part, handles := h.still(part)
			errs := h.queue.Hide(ctx, handles, d)
			h.mu.Lock()
			defer h.mu.Unlock()
			for i, m := range part {
				switch {
				case errs[i] == nil:
				case !sqserror.Gone(errs[i]):
					failed++
				case h.byID[m.id] == m && m.handle == handles[i]: // not received once more
					delete(h.byID, m.id)
				}
			}
			return nil
		})
	}
	_ = calls.Wait() // they return no error
	return failed
}

// still returns those of a list that are still held, and their handles.
func (h *hold) still(list []*held) (still []*held, handles []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range list {
		if h.byID[m.id] == m {
			still, handles = append(still, m), append(handles, m.handle)
		}
	}
	return still, handles
}

// ids is a set of message ids. Of each it keeps 16 bytes, so that it has room for millions.
type ids map[[16]byte]bool

// key is made of the id's digest, since servers other than SQS may have ids that are no UUIDs.
func key(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

func (s ids) has(id string) bool { return s[key(id)] }

func (s ids) add(id string) { s[key(id)] = true }
