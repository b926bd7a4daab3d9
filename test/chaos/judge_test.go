package main

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/chaos/diary"
)

// story is a run that never was: message 900, of the last phase, in two workers.
type story struct {
	*run
	began      time.Time
	one, other *process
	findings   *findings
}

const hero = 900

func newStory() *story {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &story{began: began, findings: &findings{copies: map[string]int{}},
		run: &run{options: options{messages: 1000}, orders: make([]order, 1000), ledger: newLedger(1000), handlings: make([][]handling, 1000)}}
	for i := range s.findings.again {
		s.findings.again[i] = map[string]int{}
	}
	s.one = &process{index: 0, slot: 0, visibility: shortVisibility, signal: term, signaled: began.Add(time.Hour)}
	s.other = &process{index: 1, slot: 1, visibility: shortVisibility, signal: term, signaled: began.Add(time.Hour)}
	return s
}

func (s *story) at(seconds float64) time.Time {
	return s.began.Add(time.Duration(seconds * float64(time.Second)))
}

func (s *story) event(seconds float64, kind sqs.Kind, attempt int, hidden time.Duration) {
	s.ledger.observe(sqs.Event{Time: s.at(seconds), Kind: kind, Queue: standardName, Body: `{"n":900,"ms":1}`, ReceiveCount: attempt,
		Visibility: hidden, ReceiptHandle: string(kind) + string(rune('0'+attempt))})
}

func (s *story) handled(n int, p *process, attempt int, start, end float64, outcome diary.Outcome) {
	h := handling{n: n, attempt: attempt, process: p, start: s.at(start), outcome: outcome}
	if outcome != "" {
		h.end = s.at(end)
	}
	s.handlings[n] = append(s.handlings[n], h)
}

// first tells of a message that one worker was given and handled.
func (s *story) first(outcome diary.Outcome) {
	s.event(1, sqs.Received, 1, 5*time.Second)
	s.handled(hero, s.one, 1, 1.1, 1.2, outcome)
}

// second tells that the worker was given it again, and done with it.
func (s *story) second() {
	s.event(2, sqs.Received, 2, 5*time.Second)
	s.handled(hero, s.one, 2, 2.1, 2.2, diary.OK)
	s.event(3, sqs.Deleted, 2, 0)
}

// twice tells of a message that one worker handled, and then another.
func (s *story) twice() {
	s.first(diary.OK)
	s.event(6, sqs.Returned, 1, 0)
	s.event(6.1, sqs.Received, 2, 5*time.Second)
	s.handled(hero, s.other, 2, 6.2, 6.3, diary.OK)
	s.event(6.5, sqs.Deleted, 2, 0)
}

// twiceWith tells the same, with a fault of a slot.
func twiceWith(k kind, slot int, from, to float64) func(*story) {
	return func(s *story) {
		s.twice()
		s.faults.list = []*fault{{kind: k, slot: slot, from: s.at(from), to: s.at(to)}}
	}
}

func TestJudgeMessage(t *testing.T) {
	tests := []struct {
		name string
		tell func(*story)
		want string // in the only violation; "" for none
		why  string // it was handled again
	}{
		{"once", func(s *story) {
			s.first(diary.OK)
			s.event(2, sqs.Deleted, 1, 0)
		}, "", ""},
		{"again after a failure", func(s *story) {
			s.first(diary.Failed)
			s.second()
		}, "", ""},
		{"again without a reason", (*story).twice, "for no reason", "NO REASON"},
		{"again, a fault before", twiceWith(reset, 0, 0, 0.9), "for no reason", "NO REASON"},
		{"again, a fault of another slot", twiceWith(reset, 1, 2, 3), "for no reason", "NO REASON"},
		{"again, a SIGTERM", func(s *story) {
			s.twice()
			s.one.signaled = s.at(3)
			s.faults.list = []*fault{{kind: term, slot: 0, from: s.at(3), to: s.at(4)}}
		}, "for no reason", "NO REASON"},
		{"again, two calls failed", func(s *story) {
			s.twice()
			s.failedCalls(2)
		}, "for no reason", "NO REASON"},
		{"again, three calls failed", func(s *story) {
			s.twice()
			s.failedCalls(3)
		}, "", "calls failed by the server"},
		{"again, a fault of its slot", twiceWith(reset, 0, 2, 3), "", "reset"},
		{"again, a restart", twiceWith(restart, -1, 5, 7), "", "server restart"},
		{"again, the first one killed", func(s *story) {
			s.twice()
			s.one.signal, s.one.signaled = kill, s.at(1.3)
		}, "", "kill -9"},
		{"again, the first one killed later", func(s *story) {
			s.twice()
			s.one.signal, s.one.signaled = kill, s.at(7)
		}, "for no reason", "NO REASON"},
		{"again, a machine that stood still", func(s *story) {
			s.twice()
			s.slept = map[*process][]diary.Line{s.one: {{Kind: diary.Stall, At: s.at(5), Lasted: 2 * time.Second}}}
		}, "", "the machine stood still"},
		{"delivered twice", func(s *story) {
			s.event(1, sqs.Received, 1, 0)
			s.handled(hero, s.one, 1, 1.1, 1.4, diary.OK)
			s.event(1.1, sqs.Received, 2, 5*time.Second)
			s.handled(hero, s.other, 2, 1.2, 1.3, diary.OK)
			s.event(2, sqs.Deleted, 2, 0)
		}, "", "delivered twice by the server"},
		{"lost", func(s *story) {
			s.first(diary.Failed)
			s.event(2, sqs.Deleted, 1, 0)
		}, "is LOST", ""},
		{"never begun", func(s *story) { s.event(2, sqs.Deleted, 1, 0) }, "is LOST", ""},
		{"deleted too early", func(s *story) {
			s.event(1, sqs.Received, 1, 5*time.Second)
			s.event(1.15, sqs.Deleted, 1, 0)
			s.handled(hero, s.one, 1, 1.1, 1.2, diary.OK)
		}, "deleted before it was handled", ""},
		{"left", func(s *story) {
			s.first(diary.OK)
		}, "is not deleted", ""},
		{"redriven", func(s *story) { s.event(1, sqs.Redriven, 1000, 0) }, "was redriven by the server", ""},
		{"cut off by a stop", func(s *story) {
			s.event(1, sqs.Received, 1, 5*time.Second)
			s.handled(hero, s.one, 1, 1.1, 0, "")
			s.handled(hero, s.one, 1, 1.1, 1.2, diary.OK)
			s.event(2, sqs.Deleted, 1, 0)
		}, "ended in peace before the handler did", "NO REASON"},
		{"cancelled", func(s *story) {
			s.first(diary.Cancelled)
			s.second()
		}, "was cancelled", ""},
		{"dead-lettered, and good", func(s *story) {
			s.first(diary.OK)
			s.copied(1.5)
			s.event(2, sqs.Deleted, 1, 0)
		}, "where it does not belong", ""},
		{"permanent", func(s *story) { s.permanent(1.5) }, "", ""},
		{"permanent, not there", func(s *story) { s.permanent() }, "is LOST", ""},
		{"permanent, deleted before", func(s *story) { s.permanent(2.5) }, "is LOST", ""},
		{"permanent, twice", func(s *story) { s.permanent(1.5, 1.6) }, "in the dead-letter queue 2 times", ""},
		{"permanent, twice by a lost answer", func(s *story) {
			s.permanent(1.5, 1.6)
			s.ledger.calls = []call{{process: 0, operation: "SendMessageBatch", began: s.at(1.45), trouble: "no answer"}}
		}, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			s.judgeMessage(hero, s.findings)
			got := s.violations.list
			switch {
			case test.want == "" && len(got) > 0:
				t.Errorf("violations %q, want none", got)
			case test.want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), test.want)):
				t.Errorf("violations %q, want one with %q", got, test.want)
			}
			if again := s.findings.again[everything]; test.why != "" && again[test.why] != 1 || test.why == "" && len(again) > 0 {
				t.Errorf("handled again: %v, want %q", again, test.why)
			}
		})
	}
}

func (s *story) failedCalls(n int) {
	for range n {
		s.ledger.calls = append(s.ledger.calls, call{process: 0, began: s.at(3), ended: s.at(3), entries: []entry{{n: hero, failed: true}}})
	}
}

func (s *story) copied(seconds float64) {
	s.ledger.observe(sqs.Event{Time: s.at(seconds), Kind: sqs.Sent, Queue: deadName, Body: `{"n":900,"ms":1}`})
}

func (s *story) permanent(copies ...float64) {
	s.orders[hero].Permanent = true
	s.first(diary.Permanent)
	for _, at := range copies {
		s.copied(at)
	}
	s.event(2, sqs.Deleted, 1, 0)
}

// Half of all work is sent twice, and none more often.
func TestCopies(t *testing.T) {
	list := makeOrders(10_000, rand.New(rand.NewPCG(1, 0)))
	copies(list, rand.New(rand.NewPCG(1, 2)))
	times, twice := map[int]int{}, 0
	for n := range list {
		if list[n].N != n {
			t.Errorf("order %d has the number %d", n, list[n].N)
		}
		work := list[n].workOf()
		if times[work]++; times[work] == 2 {
			twice++
		}
		if times[work] > 2 || list[work].Key > 0 {
			t.Errorf("order %d is a copy of %d, which is one, or was copied before", n, work)
		}
	}
	if share := float64(twice) / float64(len(times)); share < 0.45 || share > 0.55 {
		t.Errorf("%d of %d works are sent twice", twice, len(times))
	}
}

func TestJudgeGroups(t *testing.T) {
	tests := []struct {
		name string
		tell func(*story)
		want string
	}{
		{"in order", func(s *story) {
			s.handled(900, s.one, 1, 1, 2, diary.OK)
			s.handled(901, s.other, 1, 2, 3, diary.OK)
		}, ""},
		{"in order after a failure", func(s *story) {
			s.handled(900, s.one, 1, 1, 2, diary.Failed)
			s.handled(900, s.other, 2, 3, 4, diary.OK)
			s.handled(901, s.other, 1, 5, 6, diary.OK)
		}, ""},
		{"overtaken", func(s *story) {
			s.handled(900, s.one, 1, 1, 2, diary.Failed)
			s.handled(901, s.one, 1, 3, 4, diary.OK)
			s.handled(900, s.other, 2, 5, 6, diary.OK)
		}, "was done before message 900"},
		{"two at a time", func(s *story) {
			s.handled(900, s.one, 1, 1, 2, diary.OK)
			s.handled(901, s.other, 1, 1.5, 3, diary.OK)
		}, "at a time for no reason"},
		{"two at a time, in the shadow of a long one", func(s *story) {
			s.handled(900, s.one, 1, 1, 9, diary.Failed)
			s.handled(900, s.one, 2, 10, 11, diary.OK)
			s.handled(901, s.one, 1, 2, 3, diary.Failed)
			s.handled(901, s.one, 2, 12, 13, diary.OK)
		}, "at a time for no reason"},
		{"two at a time, by a fault", func(s *story) {
			s.handled(900, s.one, 1, 1, 2, diary.OK)
			s.handled(901, s.other, 1, 1.5, 3, diary.OK)
			s.faults.list = []*fault{{kind: hangAsk, slot: 0, from: s.at(0.5), to: s.at(1.2)}}
		}, ""},
		{"two at a time in one worker, fault or not", func(s *story) {
			s.handled(900, s.one, 1, 1, 2, diary.OK)
			s.handled(901, s.one, 1, 1.5, 3, diary.OK)
			s.faults.list = []*fault{{kind: hangAsk, slot: 0, from: s.at(0.5), to: s.at(1.2)}}
		}, "at a time for no reason"},
		{"after a kill", func(s *story) {
			s.one.signal, s.one.signaled = kill, s.at(1.5)
			s.handled(900, s.one, 1, 1, 0, "")
			s.handled(900, s.other, 2, 6, 7, diary.OK)
			s.handled(901, s.other, 1, 7, 8, diary.OK)
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.orders[900].group, s.orders[901].group = "g", "g"
			test.tell(s)
			s.judgeGroups()
			if got := strings.Join(s.violations.list, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("violations %q, want %q", got, test.want)
			}
		})
	}
}

func TestStranded(t *testing.T) {
	tests := []struct {
		name           string
		tell           func(*story)
		want, notNamed bool
	}{
		{"hidden by its receive", func(*story) {}, true, true},
		{"named by a call", func(s *story) {
			s.ledger.calls = []call{{process: 0, began: s.at(2), entries: []entry{{n: hero}}}}
		}, true, false},
		{"in its backoff", func(s *story) { s.event(2, sqs.Visibility, 1, time.Second) }, false, false},
		{"released", func(s *story) { s.event(2, sqs.Visibility, 1, 0) }, false, false},
		{"deleted", func(s *story) { s.event(2, sqs.Deleted, 1, 0) }, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.event(1, sqs.Received, 1, 30*time.Second)
			test.tell(s)
			s.ledger.deliveries[0].process = 0
			if got := s.ledger.stranded(0, s.at(4)); (len(got) > 0) != test.want {
				t.Errorf("stranded: %v, want one: %t", got, test.want)
			}
			if got := s.ledger.stranded(1, s.at(4)); len(got) > 0 {
				t.Errorf("stranded by another worker: %v", got)
			}
			if test.want {
				if got := s.ledger.neverNamed(hero, s.at(0.5)); got != test.notNamed {
					t.Errorf("neverNamed: %t, want %t", got, test.notNamed)
				}
				if s.ledger.neverNamed(hero, s.at(1.5)) {
					t.Error("neverNamed: true for a message that was received long before the stop")
				}
			}
		})
	}
}

// The spy must know whose message is whose, and which entries failed.
func TestSpy(t *testing.T) {
	s := newStory()
	s.event(1, sqs.Received, 1, 30*time.Second)
	answer := ""
	spy := &spy{ledger: s.ledger, process: &(&gate{}).process, server: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answer == "" {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(answer))
	})}
	spy.process.Store(7)
	ask := func(operation, body, told string) call {
		answer = told
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", "AmazonSQS."+operation)
		func() {
			defer func() { _ = recover() }()
			spy.ServeHTTP(httptest.NewRecorder(), r)
		}()
		return s.ledger.calls[len(s.ledger.calls)-1]
	}
	c := ask("ReceiveMessage", `{"QueueUrl":"http://x/0/orders"}`, `{"Messages":[{"ReceiptHandle":"received1"}]}`)
	if c.given != 1 || c.queue != "orders" || c.trouble != "" || s.ledger.deliveries[0].process != 7 {
		t.Errorf("a receive: %+v, delivered to %d", c, s.ledger.deliveries[0].process)
	}
	entries := `{"Entries":[{"Id":"0","ReceiptHandle":"received1","VisibilityTimeout":3},{"Id":"1","ReceiptHandle":"unknown"}]}`
	if c = ask("ChangeMessageVisibilityBatch", entries, `{"Failed":[{"Id":"1"}]}`); len(c.entries) != 1 || c.entries[0] != (entry{hero, 3, false}) {
		t.Errorf("a success: %+v", c)
	}
	if c = ask("DeleteMessageBatch", entries, `{"Failed":[{"Id":"0"}]}`); len(c.entries) != 1 || !c.entries[0].failed {
		t.Errorf("an entry that failed: %+v", c)
	}
	if c = ask("DeleteMessageBatch", entries, ""); c.trouble != "no answer" || len(c.entries) != 1 || !c.entries[0].failed {
		t.Errorf("a lost answer: %+v", c)
	}
}

// What ElasticMQ did is read from its answers.
func TestInfer(t *testing.T) {
	s := newStory()
	s.ledger.infer("ReceiveMessage", []byte(`{"QueueUrl":"http://x/0/orders","VisibilityTimeout":5}`),
		[]byte(`{"Messages":[{"Body":"{\"n\":900,\"ms\":1}","ReceiptHandle":"h","Attributes":{"ApproximateReceiveCount":"2"}}]}`))
	m := &s.ledger.messages[hero]
	if m.last != 0 || s.ledger.deliveries[0].attempt != 2 || time.Until(m.due) < 4*time.Second {
		t.Errorf("a receive: %+v, %+v", m, s.ledger.deliveries)
	}
	entries := `{"QueueUrl":"http://x/0/orders","Entries":[{"Id":"0","ReceiptHandle":"h","VisibilityTimeout":0}]}`
	s.ledger.infer("DeleteMessageBatch", []byte(entries), []byte(`{"Failed":[{"Id":"0"}]}`))
	if !m.deleted.IsZero() {
		t.Error("deleted by an entry that failed")
	}
	s.ledger.infer("ChangeMessageVisibilityBatch", []byte(entries), []byte(`{"Successful":[{"Id":"0"}]}`))
	if time.Until(m.due) > 0 {
		t.Error("not released")
	}
	for range 2 {
		s.ledger.infer("DeleteMessageBatch", []byte(entries), []byte(`{"Successful":[{"Id":"0"}]}`))
	}
	if n, _ := s.ledger.finished(everything); m.deleted.IsZero() || n != 1 {
		t.Errorf("deleted %v, %d messages are done", m.deleted, n)
	}
	s.ledger.infer("SendMessageBatch", []byte(`{"QueueUrl":"http://x/0/dead-orders","Entries":[{"Id":"0","MessageBody":"{\"n\":900,\"ms\":1}"}]}`),
		[]byte(`{"Successful":[{"Id":"0"}]}`))
	if len(m.copies) != 1 {
		t.Errorf("%d dead letters", len(m.copies))
	}
}
