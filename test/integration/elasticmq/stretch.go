package main

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// stretches are how many times as long everything takes when a sequence is run
// again that was late. Then what ends after 1 and 2 s ends after that many
// times as long, and the budgets grow with it. More would come near the minutes
// that the servers know themselves, such as that between two purges.
var stretches = []int{1, 2, 4}

// stretched is s with all short times, and those that only have to outlast the
// sequence, so many times as long.
func (s sequence) stretched(times int) sequence {
	s.stretch = times
	return s
}

// times is how many times as long it is; 1 unless it was stretched.
func (s sequence) times() int { return max(1, s.stretch) }

func (s sequence) phase() time.Duration  { return phase * time.Duration(s.times()) }
func (s sequence) budget() time.Duration { return budget * time.Duration(s.times()) }

// call is o as it is sent in this sequence. What is at or over a limit is no
// length of time that anything waits for, and stays.
func (s sequence) call(o operation) operation {
	if s.times() == 1 {
		return o
	}
	o.Visibility, o.Wait = s.time(o.Visibility), s.time(o.Wait)
	o.Messages = slices.Clone(o.Messages)
	for i := range o.Messages {
		o.Messages[i].Delay = s.time(o.Messages[i].Delay)
	}
	o.Receipts = slices.Clone(o.Receipts)
	for i := range o.Receipts {
		o.Receipts[i].Visibility = s.time(o.Receipts[i].Visibility)
	}
	o.Attributes = maps.Clone(o.Attributes)
	for _, name := range []string{"DelaySeconds", "VisibilityTimeout"} {
		if n, err := strconv.ParseInt(o.Attributes[name], 10, 32); err == nil {
			o.Attributes[name] = strconv.Itoa(int(s.time(int32(n))))
		}
	}
	return o
}

// time is a number of seconds as it is sent.
func (s sequence) time(seconds int32) int32 {
	if slices.Contains([]int32{1, 2, 30, 60}, seconds) { // what the generator chooses from
		return seconds * int32(s.times())
	}
	return seconds
}
