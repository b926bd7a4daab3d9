package main

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// once passes the first answer to an operation on, changed, and leaves the
// others as they are.
type once struct {
	http.RoundTripper
	changed   *atomic.Bool
	operation string
	change    func(*http.Response)
}

func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.RoundTripper.RoundTrip(r)
	if err == nil && r.Header.Get("X-Amz-Target") == "AmazonSQS."+o.operation && o.changed.CompareAndSwap(false, true) {
		o.change(res)
	}
	return res, err
}

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }
func (unreadable) Close() error               { return nil }

func nothing(res *http.Response)  { res.Body = http.NoBody }
func breakOff(res *http.Response) { res.Body = unreadable{errors.New("broken off")} }
func closeOwn(res *http.Response) { res.Body = unreadable{net.ErrClosed} }

func TestADifferenceThatIsNotThereAgain(t *testing.T) {
	tests := []struct {
		name         string
		sequences    int
		change       func(*http.Response)
		emulator     bool   // it is the emulator's answer
		failure      string // in the error; "": none
		printed, not string // in what is printed
	}{
		{"one of many", 101, nothing, false, "", "not judged: timing: ", "difference 1"},
		{"more than 1 %", 60, nothing, false, "1 of 60 sequences were not judged, more than 1 %", "not judged: timing: ", "difference 1"},
		{"a broken answer of the other's", 101, breakOff, false, "", "broken off", "difference 1"},
		{"a broken answer of the emulator's", 101, breakOff, true, "1 differences that accepted.go does not explain", "broken off", "not judged"},
		{"a connection that the client itself closed", 60, closeOwn, true, "", "60 sequences", "not judged"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changed := new(atomic.Bool)
				c := twin(t, func(inner http.RoundTripper) http.RoundTripper {
					return once{inner, changed, "GetQueueAttributes", test.change}
				})
				if test.emulator {
					c.ours, c.theirs = c.theirs, c.ours
				}
				var out strings.Builder
				err := c.all(t.Context(), options{seed: 1, sequences: test.sequences, parallel: 8, shrink: 1}, &out)
				if (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
					t.Errorf("error %v, want %q", err, test.failure)
				}
				if !strings.Contains(out.String(), test.printed) || strings.Contains(out.String(), test.not) {
					t.Errorf("printed, want %q and not %q:\n%s", test.printed, test.not, &out)
				}
			})
		})
	}
}

func TestAnEntryThatIsNotMetIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twin(t, nil)
		c.accepted = acceptedDifferences
		var out strings.Builder
		if err := c.all(t.Context(), options{seed: 1, sequences: 10, parallel: 8}, &out); err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "was not met by this seed"); n != len(acceptedDifferences) {
			t.Errorf("%d notes, want one of each of the %d entries:\n%s", n, len(acceptedDifferences), &out)
		}
	})
}

// sluggish is late with every call of the first sequences.
type sluggish struct {
	http.RoundTripper
	calls *atomic.Int64
}

func (s sluggish) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.calls.Add(1) <= 8 {
		return slow{s.RoundTripper, 2 * budget}.RoundTrip(r)
	}
	return s.RoundTripper.RoundTrip(r)
}

func TestWhatIsLateIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twin(t, func(inner http.RoundTripper) http.RoundTripper { return sluggish{inner, new(atomic.Int64)} })
		v, err := c.judgeAll(t.Context(), options{seed: 1, sequences: 20, parallel: 8})
		if err != nil {
			t.Fatal(err)
		}
		for i, out := range v.outcomes {
			if out == nil {
				t.Errorf("sequence %d was not judged", i)
			}
		}
		if n := c.attempts.Load(); n <= 20 || v.unjudged() > 0 {
			t.Errorf("%d runs of 20 sequences, %d not judged: want more, and none", n, v.unjudged())
		}
	})
}

func TestPhasesDoNotBeginEverywhereAtOnce(t *testing.T) {
	c := newCheck(endpoint{}, endpoint{}, nil, "test", 3)
	for i := range 3 {
		if got, want := <-c.slots, phase*time.Duration(i)/3; got != want {
			t.Errorf("slot %d waits %v, want %v", i, got, want)
		}
	}
}

func TestADuplicateOfWhatOnlyOneDeduplicated(t *testing.T) {
	batch := operation{Name: "SendMessageBatch", Messages: []message{
		{ID: "a", Body: "m2", Group: "g", Dedup: "d1"}, {ID: "b", Body: "m3", Group: "g", Dedup: "d1"}, {ID: "c", Body: "m4", Group: "g", Dedup: "d2"}}}
	after := []operation{{Name: "SendMessage", Messages: []message{{Body: "m1", Group: "g", Dedup: "d1"}}}, {Name: "PurgeQueue"}}
	tests := []struct {
		name, entry, ours, theirs string
		earlier                   []operation
		want                      bool
	}{
		{"new after a purge", "a", "that of m1", "new", after, true},
		{"the batch's own duplicate", "b", "that of m1", "that of m2", after, true},
		{"of an entry with another id", "c", "that of m1", "that of m2", after, false},
		{"of a later entry", "a", "that of m1", "that of m3", after, false},
		{"without a purge", "b", "that of m1", "that of m2", after[:1], false},
		{"ours is new", "b", "new", "that of m2", after, false},
	}
	for _, test := range tests {
		c := newCheck(endpoint{}, endpoint{}, acceptedDifferences, "test", 1)
		d := difference{operation: batch, fifo: true, earlier: test.earlier, path: "MessageId of entry " + test.entry, ours: test.ours, theirs: test.theirs}
		if got := c.accepts(d) != nil; got != test.want {
			t.Errorf("%s: accepted %v, want %v", test.name, got, test.want)
		}
	}
}

func TestDeadLettersAmongFew(t *testing.T) {
	receive := func(most int32) operation { return operation{Name: "ReceiveMessage", Max: most} }
	policy := operation{Name: "CreateQueue", Attributes: map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"{arn:1}","maxReceiveCount":1}`}}
	tests := []struct {
		name         string
		most         int32
		ours, theirs string
		earlier      []operation
		want         bool
	}{
		{"fewer of few", 1, "m4", "", []operation{policy, receive(10)}, true},
		{"fewer of all", 10, "m4", "", []operation{policy, receive(10)}, false},
		{"others", 1, "m4", "m5", []operation{policy, receive(10)}, false},
		{"more", 1, "", "m4", []operation{policy, receive(10)}, false},
		{"no redrive policy", 1, "m4", "", []operation{receive(10)}, false},
		{"received for the first time", 1, "m4", "", []operation{policy}, false},
	}
	for _, test := range tests {
		c := newCheck(endpoint{}, endpoint{}, acceptedDifferences, "test", 1)
		d := difference{operation: receive(test.most), fifo: true, earlier: test.earlier, path: pathReceived, ours: test.ours, theirs: test.theirs}
		if got := c.accepts(d) != nil; got != test.want {
			t.Errorf("%s: accepted %v, want %v", test.name, got, test.want)
		}
	}
}

func TestNoMoreMessagesThanOneReceiveReturns(t *testing.T) {
	for i := range 4 * len(limits) {
		s, n := generate(9, i), 0
		for _, o := range s.operations {
			if !o.NoQueue && len(o.Messages) <= 10 { // eleven are refused
				n += len(o.Messages)
			}
		}
		if n > maxSent {
			t.Errorf("sequence %d sends %d messages: %v", i, n, s.operations)
		}
	}
}
