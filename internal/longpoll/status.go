package longpoll

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
)

// Status returns the state of the Poller. It looks at each running record.
func (p *Poller) Status() batch.Status {
	s, _ := p.report()
	return s
}

// report returns the state of the Poller, and whether it works: SQS answers, and no hook hangs.
func (p *Poller) report() (s batch.Status, live bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s = batch.Status{
		Queue:       p.cfg.Queue,
		State:       p.state(),
		Concurrency: p.most,
		Undeleted:   p.undeleted,
		LastReceive: p.intake.answered,
		LastError:   p.trouble.last,
		LastErrorAt: p.trouble.lastT,
		Counts:      p.counts,
	}
	live = p.intake.answersInTime(now, p.cfg.Wait) && !p.outcomes.Hung(now) && !p.notices.Hung(now)
	if p.runner != nil {
		l := p.runner.Load()
		s.Running, s.Waiting, s.AbandonedRunning, s.OldestSeconds = l.Running, l.Waiting, l.Abandoned, l.Oldest.Seconds()
		live = live && l.InHook <= hooks.HungAfter
	}
	if p.phase == stopped {
		live = p.fatal == nil // the process may continue with other queues
	}
	return s, live
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

// Health returns an HTTP handler for the health checks of orchestrators. It covers any
// number of pollers:
//
//   - /livez answers 503 if the process should be replaced: a poller's receives are not answered in
//     time, a hook takes more than 30 s, or a poller stopped with an error. Otherwise it answers
//     200, also while SQS is down.
//   - /readyz answers 200 while every poller receives, and 503 while one starts, drains, or fails to
//     receive or to delete. A poller that is paused or aborted (batch.Abort) counts as ready, since a
//     new process would not do better.
//   - /statusz answers with a JSON list of [batch.Status], one for each poller.
//
// The first two answer with a line for each poller, such as "ok QUEUE: polling" or "not ok
// QUEUE: failing".
func Health(pollers ...*Poller) http.Handler {
	mux := http.NewServeMux()
	all := func(good func(s batch.Status, live bool) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			code, lines := http.StatusOK, ""
			for _, p := range pollers {
				s, live := p.report()
				word := "ok"
				if !good(s, live) {
					code, word = http.StatusServiceUnavailable, "not ok"
				}
				lines += word + " " + s.Queue + ": " + s.State + "\n"
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(lines))
		}
	}
	mux.HandleFunc("GET /livez", all(func(_ batch.Status, live bool) bool { return live }))
	mux.HandleFunc("GET /readyz", all(func(s batch.Status, _ bool) bool {
		return slices.Contains([]string{"polling", "paused", "aborted"}, s.State)
	}))
	mux.HandleFunc("GET /statusz", func(w http.ResponseWriter, _ *http.Request) {
		list := make([]batch.Status, len(pollers))
		for i, p := range pollers {
			list[i] = p.Status()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	return mux
}
