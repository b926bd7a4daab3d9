package longpoll

import (
	"encoding/json"
	"net/http"
	"slices"
)

// Health returns a handler for orchestrators, over any number of pollers:
//
//   - /livez answers 200 while every poller's receives are answered in time and
//     no hook hangs (takes more than 30 s), and 503 else: the process should be
//     replaced. SQS being down is no reason.
//   - /readyz answers 200 while every poller receives, and 503 else, as while it
//     starts, drains, or fails to receive or to delete. One that is paused or
//     aborted (batch.Abort) is ready: another in its place would do no better.
//   - /statusz answers with a JSON list of [Status], one for each poller.
//
// The first two answer with a line for each poller, such as "ok QUEUE: polling" or
// "not ok QUEUE: failing".
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
