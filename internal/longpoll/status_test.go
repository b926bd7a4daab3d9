package longpoll_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// health asks and returns the status codes of /livez and /readyz.
func health(t *testing.T, pollers ...*longpoll.Poller) (live, ready int) {
	t.Helper()
	h := longpoll.Health(pollers...)
	ask := func(path string) int {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
		said, bad := answer.Body.String(), 0
		for _, p := range pollers {
			line := p.Status().Queue + ": " + p.Status().State + "\n"
			if strings.Contains(said, "not ok "+line) {
				bad++
			} else if !strings.Contains(said, "ok "+line) {
				t.Errorf("%s says %q, nothing of %q", path, said, line)
			}
		}
		if (bad > 0) != (answer.Code == http.StatusServiceUnavailable) || strings.Count(said, "\n") != len(pollers) {
			t.Errorf("%s answers %d and says %q", path, answer.Code, said)
		}
		if kind := answer.Header().Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("%s answers with %q", path, kind)
		}
		return answer.Code
	}
	return ask("/livez"), ask("/readyz")
}

func (w *world) wantHealth(state string, live, ready int) {
	w.t.Helper()
	if s := w.p.Status(); s.State != state {
		w.t.Errorf("the poller is %s, want %s", s.State, state)
	}
	if l, r := health(w.t, w.p); l != live || r != ready {
		w.t.Errorf("%s: /livez %d and /readyz %d, want %d and %d", state, l, r, live, ready)
	}
}

func TestHealthInEachState(t *testing.T) {
	inWorld(t, standardQueue, lasting(10*time.Second), nil, func(w *world) {
		w.wantHealth("created", 200, 503)
		w.inject(latency(time.Second))
		w.start()
		w.wantHealth("starting", 200, 503)
		w.after(1500 * time.Millisecond)
		w.wantHealth("polling", 200, 200)
		w.Server().ClearFaults()
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.after(time.Hour)
		w.wantHealth("failing", 200, 503)
		w.Server().ClearFaults()
		w.Send("a")
		w.after(25 * time.Second)
		w.wantHealth("polling", 200, 200)
		w.p.Pause()
		w.after(time.Hour)
		w.wantHealth("paused", 200, 200)
		w.p.Resume()
		w.Send("a")
		w.after(time.Second)
		go w.stop()
		w.after(time.Second)
		w.wantHealth("draining", 200, 503)
		w.after(time.Minute)
		w.wantHealth("stopped", 200, 503)
	})
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.start()
		w.after(time.Hour)
		w.wantHealth("failing", 200, 503)
	})
}

// A receive that does not even end with its context: the loop turns no more.
func TestHealthOfALoopThatHangs(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == receiving && w.seconds() > 30 && w.seconds() < 100 {
				time.Sleep(10 * time.Minute)
			}
			return nil, nil
		}
		w.start()
		w.after(60 * time.Second)
		w.wantHealth("polling", 200, 200)
		w.after(30 * time.Second)
		if live, _ := health(t, w.p); live != 503 {
			t.Errorf("/livez %d, want 503: no receive was answered for nearly a minute", live)
		}
		w.after(15 * time.Minute)
		if live, _ := health(t, w.p); live != 200 {
			t.Errorf("/livez %d after the loop turns again, want 200", live)
		}
	})
}

func TestStatusz(t *testing.T) {
	h := sleepingFor("swordfish", time.Minute)
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.Send("a", "swordfish")
		w.start()
		w.after(10 * time.Second)
		idle := longpoll.New(batch.HandlerFunc(h), longpoll.Config{Queue: "other", SQS: w.Client})
		answer := httptest.NewRecorder()
		longpoll.Health(w.p, idle).ServeHTTP(answer, httptest.NewRequest("GET", "/statusz", nil))
		if answer.Code != 200 || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("/statusz: %d, %s", answer.Code, answer.Header().Get("Content-Type"))
		}
		if strings.Contains(answer.Body.String(), "swordfish") {
			t.Errorf("a body is in the status: %s", answer.Body)
		}
		var list []map[string]any
		if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil || len(list) != 2 {
			t.Fatalf("/statusz: %v in %s", err, answer.Body)
		}
		s := list[0]
		counts := s["counts"].(map[string]any)
		if s["queue"] != w.URL || s["state"] != "polling" || s["running"] != 1.0 || s["waiting"] != 0.0 || s["undeleted"] != 0.0 ||
			s["oldestSeconds"] != 10.0 || s["lastReceive"] == nil || s["lastError"] != nil ||
			counts["received"] != 2.0 || counts["succeeded"] != 1.0 || counts["failed"] != 0.0 {
			t.Errorf("/statusz: %v", s)
		}
		if list[1]["queue"] != "other" || list[1]["state"] != "created" || list[1]["lastReceive"] != nil {
			t.Errorf("/statusz of one that never ran: %v", list[1])
		}
		// One that is not ready is enough.
		if live, ready := health(t, w.p, idle); live != 200 || ready != 503 {
			t.Errorf("/livez %d, /readyz %d; want 200 and 503", live, ready)
		}
		synctest.Wait()
	})
}

func TestHealthOtherPathsAndMethods(t *testing.T) {
	for request, want := range map[string]int{"GET /": 404, "POST /livez": 405, "GET /livez": 200, "GET /statusz": 200} {
		method, path, _ := strings.Cut(request, " ")
		answer := httptest.NewRecorder()
		longpoll.Health().ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		if answer.Code != want {
			t.Errorf("%s: %d, want %d", request, answer.Code, want)
		}
	}
}
