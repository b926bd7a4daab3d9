package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/chaos/diary"
)

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
