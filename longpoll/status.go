package longpoll

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/notify"
)

// Counts are totals since a Poller was made.
type Counts struct {
	Receives   int `json:"receives"`   // calls of ReceiveMessage
	Received   int `json:"received"`   // messages received
	Succeeded  int `json:"succeeded"`  // records whose handler succeeded
	Failed     int `json:"failed"`     // records whose handler failed or was abandoned
	Abandoned  int `json:"abandoned"`  // records whose handler was abandoned
	Released   int `json:"released"`   // records given back without being handled
	Lost       int `json:"lost"`       // records that SQS made visible to others while they were held
	Repeated   int `json:"repeated"`   // deliveries of records that were held or handled already
	Extensions int `json:"extensions"` // calls that extended visibility
}

// Status is the state of a Poller at one moment.
type Status struct {
	Queue string `json:"queue"`
	// State is one of:
	//
	//   - "created", "starting", "polling", "draining", "stopped";
	//   - "failing": receiving fails, or deleting fails and nothing is received;
	//   - "paused": see [Poller.Pause];
	//   - "aborted": nothing is received for a time, see batch.Abort.
	State string `json:"state"`
	// Running is the number of slots in use. Waiting is the number of records that wait for
	// a slot. Undeleted is the number of handled records that are not deleted yet.
	Running   int `json:"running"`
	Waiting   int `json:"waiting"`
	Undeleted int `json:"undeleted"`
	// AbandonedRunning is the number of abandoned handlers that still run.
	AbandonedRunning int `json:"abandonedRunning"`
	// OldestSeconds is for how long the oldest running handler has been running.
	OldestSeconds float64 `json:"oldestSeconds"`
	// LastReceive is when SQS last answered a receive. Zero if it never did.
	LastReceive time.Time `json:"lastReceive,omitzero"`
	// LastError is the latest error of receiving, deleting or extending, and LastErrorAt its time.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	Counts      Counts    `json:"counts"`

	live bool
}

// Status returns the state of the Poller. It looks at each running record.
func (p *Poller) Status() (s Status) {
	if !p.onLoop(func() { s = p.status() }) {
		s = Status{Queue: p.cfg.Queue, State: "created", live: true}
	}
	return s
}

func (p *Poller) status() Status {
	now := time.Now()
	s := Status{
		Queue:       p.cfg.Queue,
		State:       p.state(),
		Undeleted:   p.undeleted,
		LastReceive: p.intake.answered,
		LastError:   p.trouble.last,
		LastErrorAt: p.trouble.lastT,
		Counts:      p.counts,
		live:        p.intake.answersInTime(now, p.cfg.Wait) && !p.callHooks.Hung(now) && !p.notices.Hung(now),
	}
	if p.runner != nil {
		l := p.runner.Load()
		s.Running, s.Waiting, s.AbandonedRunning, s.OldestSeconds = l.Running, l.Waiting, l.Abandoned, l.Oldest.Seconds()
		s.live = s.live && l.InHook <= notify.HungAfter
	}
	if p.phase == stopped {
		s.live = p.fatal == nil // the process may continue with other queues
	}
	return s
}

func (p *Poller) state() string {
	switch {
	case p.phase == polling && p.pausing:
		return "paused"
	case (p.phase == polling || p.phase == starting) && p.trouble.receiving.tries > 0,
		p.phase == polling && p.trouble.deleting.tries > 0 && p.deletesHold():
		return "failing"
	case p.phase == polling && p.aborts.on(time.Now()):
		return "aborted"
	}
	return [...]string{"created", "starting", "polling", "draining", "draining", "draining", "stopped"}[p.phase]
}

// answersInTime reports whether SQS answers the open receives in time.
func (in *intake) answersInTime(now time.Time, wait time.Duration) bool {
	return in.calls == 0 || now.Sub(in.begun) < wait+2*receiveMargin || now.Sub(in.answered) < wait+2*receiveMargin
}

// Health returns an HTTP handler for the health checks of orchestrators. It covers any
// number of pollers:
//
//   - /livez answers 503 if the process should be replaced: a poller's receives are not answered in
//     time, a hook takes more than 30 s, or a poller stopped with an error. Otherwise it answers
//     200, also while SQS is down.
//   - /readyz answers 200 while every poller receives, and 503 while one starts, drains, or fails to
//     receive or to delete. A poller that is paused or aborted (batch.Abort) counts as ready, since a
//     new process would not do better.
//   - /statusz answers with a JSON list of [Status], one for each poller.
//
// The first two answer with a line for each poller, such as "ok QUEUE: polling" or "not ok
// QUEUE: failing".
func Health(pollers ...*Poller) http.Handler {
	mux := http.NewServeMux()
	all := func(good func(Status) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			code, lines := http.StatusOK, ""
			for _, p := range pollers {
				s, word := p.Status(), "ok"
				if !good(s) {
					code, word = http.StatusServiceUnavailable, "not ok"
				}
				lines += word + " " + s.Queue + ": " + s.State + "\n"
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(lines))
		}
	}
	mux.HandleFunc("GET /livez", all(func(s Status) bool { return s.live }))
	mux.HandleFunc("GET /readyz", all(func(s Status) bool { return slices.Contains([]string{"polling", "paused", "aborted"}, s.State) }))
	mux.HandleFunc("GET /statusz", func(w http.ResponseWriter, _ *http.Request) {
		list := make([]Status, len(pollers))
		for i, p := range pollers {
			list[i] = p.Status()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	return mux
}
