package dlq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	order   []*held // by due; those that left may still be in it
	deleted ids
}

type held struct {
	id, handle string
	receives   int       // ApproximateReceiveCount that came with handle
	due        time.Time // when its time is to be extended
	left       bool      // deleted, or taken by another reader
}

func newHold(q *queue.Queue) *hold { return &hold{queue: q, byID: map[string]*held{}} }

// add holds messages that were received at a time, and returns those that were not held
// already. SQS may deliver a message twice; the later handle counts, and the receive count
// says which one that is: answers may come in another order.
func (h *hold) add(letters []letter.Letter, received time.Time) (fresh []letter.Letter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh = letters[:0]
	for _, l := range letters {
		if m := h.byID[l.ID]; m != nil {
			if l.Attempt >= m.receives {
				m.handle, m.receives = l.Handle, l.Attempt
			}
			continue
		}
		m := &held{id: l.ID, handle: l.Handle, receives: l.Attempt, due: received.Add(extendAfter)}
		h.byID[l.ID] = m
		h.order = append(h.order, m)
		fresh = append(fresh, l)
	}
	return fresh
}

// drop forgets a message that was deleted by a handle. first is false if it was deleted
// before. ok is false if it was received once more meanwhile: SQS has then confirmed the
// deletion without deleting it.
func (h *hold) drop(id, handle string) (first, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.byID[id]
	if m != nil && m.handle != handle {
		return false, false
	}
	if m != nil {
		h.leave(m)
	}
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

// leave removes a message. It stays in the order for up to a minute, without its texts.
func (h *hold) leave(m *held) {
	delete(h.byID, m.id)
	*m = held{left: true}
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
		for soft.Err() == nil {
			list := h.due(time.Now())
			if len(list) == 0 {
				break
			}
			h.hide(kill, list, hidden)
		}
	}
}

// extendAtOnce is how many messages are extended before the end of a run is looked for.
const extendAtOnce = 100 * holdCalls

// due takes messages whose time is to be extended by now, and puts them at the end of the
// order.
func (h *hold) due(now time.Time) (list []*held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for len(list) < extendAtOnce && n < len(h.order) && (h.order[n].left || !h.order[n].due.After(now)) {
		if m := h.order[n]; !m.left {
			m.due = now.Add(extendAfter)
			list = append(list, m)
		}
		n++
	}
	h.order = append(h.order[n:], list...)
	return list
}

// release makes everything visible that is held, and returns how many messages could not
// be released. They become visible when their time is over.
func (h *hold) release(ctx context.Context) (failed int) {
	h.mu.Lock()
	var list []*held
	for _, m := range h.order {
		if !m.left {
			list = append(list, m)
		}
	}
	h.mu.Unlock()
	return h.hide(ctx, list, 0)
}

// hide sets how long messages are hidden. One that another reader has received since, or
// deleted, is no longer held.
func (h *hold) hide(ctx context.Context, list []*held, d time.Duration) (failed int) {
	var calls errgroup.Group
	calls.SetLimit(holdCalls)
	var n atomic.Int64
	for part := range slices.Chunk(list, 10) {
		calls.Go(func() error {
			still, handles := h.still(part)
			for i, err := range h.queue.Hide(ctx, handles, d) {
				switch {
				case err == nil:
				case sqserror.Gone(err):
					h.forget(still[i], handles[i])
				default:
					n.Add(1)
				}
			}
			return nil
		})
	}
	_ = calls.Wait() // they return no error
	return int(n.Load())
}

// still returns those of a list that have not left, and their handles.
func (h *hold) still(list []*held) (still []*held, handles []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range list {
		if !m.left {
			still, handles = append(still, m), append(handles, m.handle)
		}
	}
	return still, handles
}

// forget removes a message that this run no longer holds by a handle, unless it was deleted
// meanwhile, or received once more.
func (h *hold) forget(m *held, handle string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !m.left && m.handle == handle {
		h.leave(m)
	}
}

// ids is a set of message ids that forgets old ones, so that its size is bounded: it
// remembers at least the last idsKept. The zero value is empty.
type ids struct{ young, old map[[16]byte]struct{} }

const idsKept = 500_000

// key is the 16 bytes of a UUID, which SQS's ids are; of another server's id, a digest.
func key(id string) (k [16]byte) {
	if raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", "")); err == nil && len(raw) == len(k) {
		return [16]byte(raw)
	}
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

func (s *ids) has(id string) bool {
	k := key(id)
	_, young := s.young[k]
	_, old := s.old[k]
	return young || old
}

func (s *ids) add(id string) {
	if len(s.young) >= idsKept {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[[16]byte]struct{}{}
	}
	s.young[key(id)] = struct{}{}
}
