package dlq

import (
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

// A verdict says whether a verb acts on a message.
type verdict int

const (
	take    verdict = iota
	other           // it is not selected
	arrived         // it was sent after the run began
	behind          // it is selected, and a message before it in its group stays
	over            // --limit is reached
)

// A picker decides which messages a verb acts on.
type picker struct {
	selection *letter.Selection
	limit     int // how many messages are taken, those on which the verb then fails included; 0 for none
	// before is when the run began. A message that was sent later is left, because it may
	// be one that this run sent and that failed again. Zero: every message is taken.
	before time.Time
	// ordered is set for verbs that move messages of a FIFO queue: a message is taken only
	// if everything before it in its group is, too.
	ordered bool

	mu      sync.Mutex
	taken   int
	blocked map[string]bool // groups of which a message stays
}

// pick decides about one message. Messages of a group come in their order. An error says
// that the selection cannot be evaluated; the message stays.
func (p *picker) pick(l *letter.Letter) (v verdict, err error) {
	matches := false
	late := !p.before.IsZero() && l.Sent.After(p.before)
	if !late {
		matches, err = p.selection.Matches(l, time.Now())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case late:
		v = arrived
	case !matches:
		v = other
	case p.ordered && p.blocked[l.GroupID]:
		v = behind
	case p.limit > 0 && p.taken >= p.limit:
		v = over
	default:
		p.taken++
		return take, nil
	}
	p.block(l)
	return v, err
}

// stays says that a message that was taken stays in the queue after all.
func (p *picker) stays(l *letter.Letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.block(l)
}

func (p *picker) block(l *letter.Letter) {
	if p.ordered {
		if p.blocked == nil {
			p.blocked = map[string]bool{}
		}
		p.blocked[l.GroupID] = true
	}
}

// isBlocked reports whether a message of a letter's group stays.
func (p *picker) isBlocked(l *letter.Letter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ordered && p.blocked[l.GroupID]
}

// full reports whether the limit is reached.
func (p *picker) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit > 0 && p.taken >= p.limit
}
