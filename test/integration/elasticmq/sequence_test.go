package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSequencesAreTimelyAndRepeat(t *testing.T) {
	seen := map[string]int{}
	for i := range 2 * len(limits) {
		s := generate(5, i)
		if !s.timely() {
			t.Errorf("sequence %d is not timely: %v", i, s.operations)
		}
		if again := generate(5, i); fmt.Sprint(s) != fmt.Sprint(again) {
			t.Errorf("sequence %d differs when it is generated again", i)
		}
		for _, o := range s.operations {
			seen[o.Name]++
			if o.waits() {
				seen["a receive that waits"]++
			}
		}
	}
	for _, name := range append(allOperations(), "Pause", "a receive that waits") {
		if seen[name] < 2 {
			t.Errorf("%s was generated %d times", name, seen[name])
		}
	}
	for name := range seen {
		if name != "Pause" && name != "a receive that waits" && !slices.Contains(allOperations(), name) {
			t.Errorf("%s is generated, but there is no such operation", name)
		}
	}
}

func TestTimely(t *testing.T) {
	send := func(delay int32) operation {
		return operation{Name: "SendMessage", Messages: []message{{Body: "m", Delay: delay}}}
	}
	wait := func(seconds, visibility int32) operation {
		return operation{Name: "ReceiveMessage", Max: 1, Wait: seconds, Visibility: visibility}
	}
	tests := []struct {
		name       string
		operations []operation
		want       bool
	}{
		{"nothing begins", []operation{send(0), wait(1, 60)}, true},
		{"a delay ends within the wait", []operation{send(1), wait(2, 60)}, true},
		{"a delay ends with the wait", []operation{send(1), wait(1, 60)}, false},
		{"a delay of the phase before", []operation{send(2), {Name: "Pause", Phases: 1}, wait(2, 60)}, true},
		{"two delays end within the wait", []operation{send(1), send(1), wait(2, 60)}, false},
		{"a pause between", []operation{send(1), send(1), {Name: "Pause", Phases: 2}, wait(2, 60)}, true},
		{"what is received comes back", []operation{wait(1, 2)}, false},
		{"the queue's own delay", []operation{{Name: "CreateQueue", Attributes: map[string]string{"DelaySeconds": "1"}}, send(0), wait(1, 60)}, false},
	}
	for _, test := range tests {
		if got := (sequence{operations: test.operations}).timely(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// slow lets virtual time pass with each call.
type slow struct {
	http.RoundTripper
	by time.Duration
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(s.by)
	return s.RoundTripper.RoundTrip(r)
}

func TestALateRunIsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twin(t, func(inner http.RoundTripper) http.RoundTripper { return slow{inner, 10 * budget} })
		var out strings.Builder
		err := c.all(t.Context(), options{seed: 1, sequences: 20, parallel: 8}, &out)
		if err == nil || !strings.Contains(err.Error(), "20 of 20 sequences were not judged") {
			t.Errorf("error %v, want that no sequence was judged", err)
		}
	})
}

func TestAcceptedDifferencesAreNarrowAndExplained(t *testing.T) {
	names := map[string]bool{}
	for _, e := range acceptedDifferences {
		if e.name == "" || names[e.name] {
			t.Errorf("the name %q is not that of one entry", e.name)
		}
		names[e.name] = true
		if e.documentation == "" || e.right == "" || len(e.operations) == 0 || len(e.what) == 0 {
			t.Errorf("%s: an entry needs operations, what differs, what AWS documents and who is right", e.name)
		}
		if e.when == nil && (e.ours == nil || e.theirs == nil) && len(e.what) == 1 && len(e.operations) > 2 {
			t.Errorf("%s: covers too much", e.name)
		}
		for _, name := range e.operations {
			if !slices.Contains(allOperations(), name) {
				t.Errorf("%s: there is no operation %s", e.name, name)
			}
		}
	}
}

func TestAnAcceptedDifferenceEndsTheComparison(t *testing.T) {
	o := operation{Name: "PurgeQueue"}
	after := operation{Name: "ReceiveMessage"}
	out := &outcome{
		sequence: sequence{operations: []operation{o, after}}, accepted: map[string]int{},
		ours:   []answer{{pathError: "PurgeQueueInProgress"}, {pathReceived: "m1"}},
		theirs: []answer{{}, {pathReceived: ""}},
	}
	c := newCheck(endpoint{}, endpoint{}, acceptedDifferences, "test", 1)
	c.judge(out)
	if len(out.differences) > 0 || out.uncompared != 1 || out.accepted["two purges within a minute"] != 1 {
		t.Errorf("differences %v, %d not compared, accepted %v", out.differences, out.uncompared, out.accepted)
	}
	c.accepted = nil
	c.judge(out)
	if len(out.differences) != 1 {
		t.Errorf("without the table: differences %v, want one", out.differences)
	}
}

func TestKept(t *testing.T) {
	if _, err := kept("1,x"); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("error %v, want one that names x", err)
	}
	s := generate(1, 0)
	numbers, err := kept("0, 2")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.keep(numbers).kept; !slices.Equal(got, []int{0, 2}) {
		t.Errorf("kept %v", got)
	}
}
