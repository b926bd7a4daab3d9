package main

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

func TestStretchedCalls(t *testing.T) {
	original := func() operation {
		return operation{Name: "Several", Wait: 2, Visibility: 60, Max: 2,
			Messages:   []message{{Body: "m", Delay: 1}, {Body: "n", Delay: 900}},
			Receipts:   []receipt{{Of: "m", Visibility: 30}, {Of: "n", Visibility: 43201}, {Of: "o"}},
			Attributes: map[string]string{"DelaySeconds": "2", "VisibilityTimeout": "many", "MessageRetentionPeriod": "60"}}
	}
	want := operation{Name: "Several", Wait: 8, Visibility: 240, Max: 2,
		Messages:   []message{{Body: "m", Delay: 4}, {Body: "n", Delay: 900}},
		Receipts:   []receipt{{Of: "m", Visibility: 120}, {Of: "n", Visibility: 43201}, {Of: "o"}},
		Attributes: map[string]string{"DelaySeconds": "8", "VisibilityTimeout": "many", "MessageRetentionPeriod": "60"}}
	o := original()
	s := sequence{}
	if got := s.call(o); !reflect.DeepEqual(got, o) {
		t.Errorf("not stretched: %v, want %v", got, o)
	}
	if got := s.stretched(4).call(o); !reflect.DeepEqual(got, want) {
		t.Errorf("stretched: %v, want %v", got, want)
	}
	if !reflect.DeepEqual(o, original()) {
		t.Errorf("the operation itself became %v", o)
	}
}

// Both servers answer a stretched sequence as they do the sequence itself, and
// it takes so many times as long.
func TestStretchedSequencesAreTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twin(t, nil)
		for i := range 40 {
			s := generate(2, i)
			began := time.Now()
			plain, err := c.compare(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			began = time.Now()
			long, err := c.compare(t.Context(), s.stretched(4))
			if err != nil {
				t.Fatal(err)
			}
			if len(long.differences) > 0 {
				t.Errorf("sequence %d: differences %v", i, long.differences)
			}
			for at, o := range s.operations {
				if o.Name == "ReceiveMessage" && long.ours[at][pathReceived] != plain.ours[at][pathReceived] {
					t.Errorf("sequence %d, operation %d: received %q, want %q", i, at, long.ours[at][pathReceived], plain.ours[at][pathReceived])
				}
			}
			if took > phase && time.Since(began) < 3*took {
				t.Errorf("sequence %d took %v, and stretched %v", i, took, time.Since(began))
			}
		}
	})
}
