package main

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// story is a run that never was: message 900, of the last phase, in two workers.
type story struct {
	*run
	began      time.Time
	one, other *process
	receives   int // so far
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

func (s *story) at(seconds string) time.Time {
	n, _ := strconv.ParseFloat(seconds, 64) // 0 for no time
	return s.began.Add(time.Duration(n * float64(time.Second)))
}

// tell adds what a script says, such as "1 received 5s; 1.1-1.2 one ok; 2 deleted": what happened
// at a second, or from one to another.
//
//	received 5s, visibility 5s, returned, deleted, redriven   what the server did; how long it hides the message
//	one ok, other 901 failed                                  a handler call of a worker, of message 900 if no other is named
//	fault -1 server restart                                   a fault of a slot
//	killed, stopped                                           worker one
//	call, lost, copied, stall                                 see below
func (s *story) tell(script string) {
	for part := range strings.SplitSeq(script, "; ") {
		times, what, _ := strings.Cut(part, " ")
		first, last, _ := strings.Cut(times, "-")
		from, to := s.at(first), s.at(last)
		what, detail, _ := strings.Cut(what, " ")
		switch what {
		case "one", "other":
			s.handled(map[string]*process{"one": s.one, "other": s.other}[what], detail, from, to)
		case "fault":
			slot, name, _ := strings.Cut(detail, " ")
			n, _ := strconv.Atoi(slot)
			s.faults.list = append(s.faults.list, &fault{kind: kind(name), slot: n, from: from, to: to})
		case "killed":
			s.one.signal, s.one.signaled = kill, from
		case "stopped":
			s.one.signaled = from
		case "call": // that failed for the message
			s.ledger.calls = append(s.ledger.calls, call{process: 0, began: from, ended: from, entries: []entry{{n: hero, failed: true}}})
		case "lost": // the answer to a send
			s.ledger.calls = append(s.ledger.calls, call{process: 0, operation: "SendMessageBatch", began: from, trouble: "no answer"})
		case "copied": // into the dead-letter queue
			s.ledger.observe(sqs.Event{Time: from, Kind: sqs.Sent, Queue: deadName, Body: `{"n":900,"ms":1}`})
		case "stall": // of two seconds
			s.slept = map[*process][]diaryLine{s.one: {{Kind: lineStall, At: from, Lasted: 2 * time.Second}}}
		default:
			if what == string(sqs.Received) {
				s.receives++
			}
			hidden, _ := time.ParseDuration(detail)
			s.ledger.observe(sqs.Event{Time: from, Kind: sqs.Kind(what), Queue: standardName, Body: `{"n":900,"ms":1}`, ReceiveCount: s.receives,
				Visibility: hidden, ReceiptHandle: what + strconv.Itoa(s.receives)})
		}
	}
}

// handled adds a handler call, which has an outcome if it has an end.
func (s *story) handled(p *process, detail string, start, end time.Time) {
	h := handling{n: hero, attempt: s.receives, process: p, start: start}
	if other, rest, ok := strings.Cut(detail, " "); ok {
		h.n, _ = strconv.Atoi(other)
		detail = rest
	}
	if detail != "" {
		h.end, h.outcome = end, ending(detail)
	}
	s.handlings[h.n] = append(s.handlings[h.n], h)
}

func TestJudgeMessage(t *testing.T) {
	const (
		first     = "1 received 5s; 1.1-1.2 one ok; "
		failed    = "1 received 5s; 1.1-1.2 one failed; "
		again     = "2 received 5s; 2.1-2.2 one ok; 3 deleted"
		twice     = first + "6 returned; 6.1 received 5s; 6.2-6.3 other ok; 6.5 deleted"
		permanent = "1 received 5s; 1.1-1.2 one permanent; 2 deleted"
	)
	for _, test := range []struct {
		name, script string
		want         string // in the only violation; "" for none
		why          string // it was handled again
	}{
		{"once", first + "2 deleted", "", ""},
		{"again after a failure", failed + again, "", ""},
		{"again without a reason", twice, "for no reason", "NO REASON"},
		{"again, a fault before", twice + "; 0-0.9 fault 0 reset", "for no reason", "NO REASON"},
		{"again, a fault of another slot", twice + "; 2-3 fault 1 reset", "for no reason", "NO REASON"},
		{"again, a SIGTERM", twice + "; 3 stopped; 3-4 fault 0 SIGTERM", "for no reason", "NO REASON"},
		{"again, two calls failed", twice + "; 3 call; 3 call", "for no reason", "NO REASON"},
		{"again, three calls failed", twice + "; 3 call; 3 call; 3 call", "", "calls failed by the server"},
		{"again, a fault of its slot", twice + "; 2-3 fault 0 reset", "", "reset"},
		{"again, a restart", twice + "; 5-7 fault -1 server restart", "", "server restart"},
		{"again, the first one killed", twice + "; 1.3 killed", "", "kill -9"},
		{"again, the first one killed later", twice + "; 7 killed", "for no reason", "NO REASON"},
		{"again, a machine that stood still", twice + "; 5 stall", "", "the machine stood still"},
		{"delivered twice", "1 received 0s; 1.1-1.4 one ok; 1.1 received 5s; 1.2-1.3 other ok; 2 deleted", "", "delivered twice by the server"},
		{"lost", failed + "2 deleted", "is LOST", ""},
		{"never begun", "2 deleted", "is LOST", ""},
		{"deleted too early", "1 received 5s; 1.15 deleted; 1.1-1.2 one ok", "deleted before it was handled", ""},
		{"left", "1 received 5s; 1.1-1.2 one ok", "is not deleted", ""},
		{"redriven", "1 redriven", "was redriven by the server", ""},
		{"cut off by a stop", "1 received 5s; 1.1 one; 1.1-1.2 one ok; 2 deleted", "ended in peace before the handler did", "NO REASON"},
		{"cancelled", "1 received 5s; 1.1-1.2 one cancelled; " + again, "was cancelled", ""},
		{"dead-lettered, and good", first + "1.5 copied; 2 deleted", "where it does not belong", ""},
		{"permanent", permanent + "; 1.5 copied", "", ""},
		{"permanent, not there", permanent, "is LOST", ""},
		{"permanent, deleted before", permanent + "; 2.5 copied", "is LOST", ""},
		{"permanent, twice", permanent + "; 1.5 copied; 1.6 copied", "in the dead-letter queue 2 times", ""},
		{"permanent, twice by a lost answer", permanent + "; 1.5 copied; 1.6 copied; 1.45 lost", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.orders[hero].Permanent = strings.HasPrefix(test.script, permanent)
			s.tell(test.script)
			s.judgeMessage(hero, s.findings)
			if got := strings.Join(s.violations.list, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("violations %q, want %q", got, test.want)
			}
			if n, _ := s.ledger.finished(everything); (n == 1) != strings.Contains(test.script, "deleted") {
				t.Errorf("%d messages are deleted", n)
			}
			if again := s.findings.again[everything]; test.why != "" && again[test.why] != 1 || test.why == "" && len(again) > 0 {
				t.Errorf("handled again: %v, want %q", again, test.why)
			}
		})
	}
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
	const hang = "; 0.5-1.2 fault 0 hang, requests"
	for _, test := range []struct{ name, script, want string }{
		{"in order", "1-2 one ok; 2-3 other 901 ok", ""},
		{"in order after a failure", "1-2 one failed; 3-4 other ok; 5-6 other 901 ok", ""},
		{"overtaken", "1-2 one failed; 3-4 one 901 ok; 5-6 other ok", "was done before message 900"},
		{"two at a time", "1-2 one ok; 1.5-3 other 901 ok", "at a time for no reason"},
		{"two at a time, in the shadow of a long one", "1-9 one failed; 10-11 one ok; 2-3 one 901 failed; 12-13 one 901 ok", "at a time for no reason"},
		{"two at a time, by a fault", "1-2 one ok; 1.5-3 other 901 ok" + hang, ""},
		{"two at a time in one worker, fault or not", "1-2 one ok; 1.5-3 one 901 ok" + hang, "at a time for no reason"},
		{"after a kill", "1.5 killed; 1 one; 6-7 other ok; 7-8 other 901 ok", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.orders[900].group, s.orders[901].group = "g", "g"
			s.tell(test.script)
			s.judgeGroups()
			if got := strings.Join(s.violations.list, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("violations %q, want %q", got, test.want)
			}
		})
	}
}

func TestStranded(t *testing.T) {
	for _, test := range []struct {
		name, script   string
		want, notNamed bool
	}{
		{"hidden by its receive", "1 received 30s", true, true},
		{"named by a call", "1 received 30s; 2 call", true, false},
		{"in its backoff", "1 received 30s; 2 visibility 1s", false, false},
		{"released", "1 received 30s; 2 visibility 0s", false, false},
		{"deleted", "1 received 30s; 2 deleted", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.tell(test.script)
			s.ledger.deliveries[0].process = 0
			if got := s.ledger.stranded(0, s.at("4")); (len(got) > 0) != test.want {
				t.Errorf("stranded: %v, want one: %t", got, test.want)
			}
			if got := s.ledger.stranded(1, s.at("4")); len(got) > 0 {
				t.Errorf("stranded by another worker: %v", got)
			}
			if test.want {
				if got := s.ledger.neverNamed(hero, s.at("0.5")); got != test.notNamed {
					t.Errorf("neverNamed: %t, want %t", got, test.notNamed)
				}
				if s.ledger.neverNamed(hero, s.at("1.5")) {
					t.Error("neverNamed: true for a message that was received long before the stop")
				}
			}
		})
	}
}

// The spy must know whose message is whose, and which entries failed.
func TestSpy(t *testing.T) {
	s := newStory()
	s.tell("1 received 30s")
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
