package longpoll

import "time"

// Counts are what a Poller has done since it was made.
type Counts struct {
	Receives   int `json:"receives"`   // calls of ReceiveMessage
	Received   int `json:"received"`   // messages
	Succeeded  int `json:"succeeded"`  // records
	Failed     int `json:"failed"`     // records whose handler failed, or was given up
	Abandoned  int `json:"abandoned"`  // records whose handler was given up
	Released   int `json:"released"`   // records given back unhandled
	Lost       int `json:"lost"`       // records that SQS took back while they were held
	Repeated   int `json:"repeated"`   // deliveries of records that were held or handled already
	Extensions int `json:"extensions"` // calls that extended visibility
}

// Status is a Poller at one moment.
type Status struct {
	Queue string `json:"queue"`
	// State is "created", "starting", "polling", "failing" (to receive, or to
	// delete, so that nothing is received), "paused", "aborted" (nothing is received
	// for a time, see batch.Abort), "draining" or "stopped".
	State string `json:"state"`
	// Running counts the slots in use, Waiting the records that wait for one,
	// Undeleted those that were handled and are not deleted yet.
	Running   int `json:"running"`
	Waiting   int `json:"waiting"`
	Undeleted int `json:"undeleted"`
	// AbandonedRunning counts the handlers that were given up and still run.
	AbandonedRunning int `json:"abandonedRunning"`
	// OldestSeconds is for how long the oldest of what runs has been running.
	OldestSeconds float64 `json:"oldestSeconds"`
	// LastReceive is when SQS last answered a receive; zero if never.
	LastReceive time.Time `json:"lastReceive,omitzero"`
	// LastError is the latest error of receiving or deleting, and LastErrorAt its time.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	Counts      Counts    `json:"counts"`

	live bool
}

// Status tells how the Poller is. It costs a look at each running record.
func (p *Poller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s := Status{
		Queue:            p.cfg.Queue,
		State:            p.state(),
		Running:          p.load.running,
		Undeleted:        p.settling.backlog,
		AbandonedRunning: p.load.abandoned,
		LastReceive:      p.intake.last,
		LastError:        p.trouble.last,
		LastErrorAt:      p.trouble.lastT,
		Counts:           p.counts,
		live:             p.phase < stopped && p.intake.turns(now, p.cfg.Wait) && !p.routines.hung(now),
	}
	started := 0
	for c := range p.load.begun {
		if c.hung(now) {
			s.live = false
		}
		s.OldestSeconds = max(s.OldestSeconds, now.Sub(c.started).Seconds())
		for i := range c.messages {
			if c.messages[i].state == begun {
				started++
			}
		}
	}
	s.Waiting = p.load.held - started
	return s
}

// hung reports whether a hook keeps c from being handed to the engine, or from
// ending.
func (c *chain) hung(now time.Time) bool {
	if !c.handed {
		return now.Sub(c.started) > hungAfter
	}
	for i := range c.messages {
		if c.messages[i].state == begun {
			return false
		}
	}
	return now.Sub(c.over) > hungAfter
}

func (p *Poller) state() string {
	switch {
	case p.phase == polling && p.paused:
		return "paused"
	case (p.phase == polling || p.phase == starting) && p.trouble.line.tries > 0:
		return "failing"
	case p.phase == polling && p.settling.deletes.line.tries > 0 && p.deletesHold(time.Now()):
		return "failing"
	case p.phase == polling && p.aborted(time.Now()):
		return "aborted"
	}
	return [...]string{"created", "starting", "polling", "draining", "stopped"}[p.phase]
}

// turns reports whether the receives that are open are answered in time.
func (in *intake) turns(now time.Time, wait time.Duration) bool {
	return in.calls == 0 || now.Sub(in.began) < wait+2*receiveMargin || now.Sub(in.last) < wait+2*receiveMargin
}
