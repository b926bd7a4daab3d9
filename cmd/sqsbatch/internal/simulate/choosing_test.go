package simulate

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
)

// stackOf is the defaults, for a time, with a load and settings.
func stackOf(length time.Duration, perSecond float64, burst int, took time.Duration, change ...assignment) model.Scenario {
	s := model.Scenario{
		Seed: 1, For: length,
		Queue:    model.Queue{Visibility: time.Minute, MaxReceiveCount: 5},
		Mapping:  &model.Mapping{BatchSize: 10, MaximumConcurrency: 10, ReportBatchItemFailures: true},
		Function: model.Function{Timeout: 10 * time.Second, MemoryMB: 256},
		Work:     model.Work{Durations: model.Durations{Constant: took}},
		Load:     model.Load{Points: []model.Point{{PerSecond: perSecond}}, Bytes: 2000},
	}
	if burst > 0 {
		s.Load.Bursts = []model.Burst{{Messages: burst}}
	}
	for _, a := range change {
		if err := find(a.name).change(&s, a.value); err != nil {
			panic(err)
		}
	}
	return s
}

func reported(t *testing.T, s model.Scenario) *model.Report {
	t.Helper()
	r, err := model.Run(t.Context(), s)
	golden.OK(t, err)
	return r
}

// near fails the test unless got is want, to a share of it.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > want*share {
		t.Errorf("%s: %.4g, want %.4g to %g%%", what, got, want, share*100)
	}
}

// batch size ≤ SQSBATCH_CONCURRENCY × (time to the cutoff ÷ time of a slow record): 10 × 28 s ÷ 2 s
// = 140. More records are not all started.
func TestChoosing_BatchSizeFitsTheCutoff(t *testing.T) {
	for size, late := range map[int]bool{140: false, 160: true} {
		s := stackOf(10*time.Minute, 0, 1600, 2*time.Second,
			assignment{"BatchSize", fmt.Sprint(size)}, assignment{"MaximumBatchingWindowInSeconds", "1"},
			assignment{"Timeout", "30"}, assignment{"VisibilityTimeout", "181"})
		if r := reported(t, s); (r.Totals.NotStarted > 0) != late || r.Totals.Handled != 1600 {
			t.Errorf("batches of %d: %d records were not started, %d handled", size, r.Totals.NotStarted, r.Totals.Handled)
		}
	}
}

// messages of a batch ≈ messages a second × window ÷ 5: 20 × 5 ÷ 5 = 20.
func TestChoosing_WindowGathersBatches(t *testing.T) {
	s := stackOf(time.Hour, 20, 0, 100*time.Millisecond, assignment{"BatchSize", "100"}, assignment{"MaximumBatchingWindowInSeconds", "5"})
	r := reported(t, s)
	near(t, "messages of a batch", float64(r.Totals.Attempts)/float64(r.Totals.Invocations), 20, 0.1)
}

// time of an invocation = (batch size ÷ SQSBATCH_CONCURRENCY, rounded up) × time of a record.
func TestChoosing_TimeOfAnInvocation(t *testing.T) {
	for concurrency, want := range map[int]float64{1: 10, 10: 1, 30: 0.4, 100: 0.1} {
		s := stackOf(10*time.Minute, 0, 1000, 100*time.Millisecond,
			assignment{"BatchSize", "100"}, assignment{"MaximumBatchingWindowInSeconds", "1"},
			assignment{"Timeout", "30"}, assignment{"VisibilityTimeout", "181"})
		s.Toolkit.Concurrency = concurrency
		r := reported(t, s)
		near(t, fmt.Sprint("concurrency ", concurrency), r.Totals.GBSeconds/0.25/float64(r.Totals.Invocations), want, 0.02)
	}
}

// SQSBATCH_OUTAGE ≤ 80,000 ÷ messages a second that fail: 80,000 ÷ 400 = 200 s. 120,000 ÷ 400 = 300 s is
// too long, because jitter lengthens the waits.
func TestChoosing_OutageBelowTheQuotaAtFullSize(t *testing.T) {
	for outage, over := range map[time.Duration]bool{200 * time.Second: false, 300 * time.Second: true} {
		s := stackOf(6*time.Minute, 400, 0, 10*time.Millisecond, assignment{"MaximumConcurrency", "20"})
		s.Toolkit.Outage = outage
		s.Troubles = []model.Trouble{{Kind: model.Errors, Until: 6 * time.Minute}}
		if r := reported(t, s); (r.Peaks.AtQuota > 0) != over {
			t.Errorf("%s: %.0f in flight, at the quota for %.0f s", outage, r.Peaks.InFlight.Value, r.Peaks.AtQuota)
		}
	}
}

// needed = messages a second × time of an invocation ÷ batch size: 500 × 0.1 ÷ 10 = 5. With fewer
// the queue grows, with as many it does not.
func TestChoosing_MaximumConcurrency(t *testing.T) {
	for concurrency, grows := range map[string]bool{"4": true, "6": false} {
		s := stackOf(5*time.Minute, 500, 0, 100*time.Millisecond, assignment{"MaximumConcurrency", concurrency})
		if r := reported(t, s); (r.Totals.Left > 5_000) != grows {
			t.Errorf("MaximumConcurrency %s: %d messages are left", concurrency, r.Totals.Left)
		}
	}
}

// pollers = messages a second × time of an invocation ÷ batch size ÷ 10: 2,000 × 0.5 ÷ 10 ÷ 10 = 10.
func TestChoosing_Pollers(t *testing.T) {
	for pollers, grows := range map[string]bool{"8": true, "12": false} {
		s := stackOf(time.Minute, 2000, 0, 500*time.Millisecond, assignment{"MaximumConcurrency", "none"},
			assignment{"MinimumPollers", pollers}, assignment{"MaximumPollers", pollers})
		if r := reported(t, s); (r.Totals.Left > 10_000) != grows {
			t.Errorf("%s pollers: %d messages are left", pollers, r.Totals.Left)
		}
	}
}

// The tables of costs: full batches of a size, and a record that fails every time.
func TestChoosing_Costs(t *testing.T) {
	const messages = 20_000
	for size, want := range map[int]float64{1: 1.333, 5: 0.267, 10: 0.133} {
		length := time.Duration(float64(messages/size)*0.1/5+20) * time.Second
		r := reported(t, stackOf(length, 0, messages, 100*time.Millisecond, assignment{"BatchSize", fmt.Sprint(size)}, assignment{"MaximumConcurrency", "5"}))
		near(t, fmt.Sprint("$ of a million in batches of ", size), r.Cost.Total*1e6/messages, want, 0.02)
	}
	for _, most := range []int{3, 5, 10, 20} {
		s := stackOf(time.Hour, 0, 1, 100*time.Millisecond, assignment{"maxReceiveCount", fmt.Sprint(most)})
		s.Work.Poison.Retry = 1
		if r := reported(t, s); r.Totals.DeadLetters != 1 || r.Totals.Invocations != most || r.Totals.Requests.Visibility != most {
			t.Errorf("maxReceiveCount %d: %+v", most, r.Totals)
		}
	}
}

// slots in use = messages a second × time of a message: 500 × 0.1 = 50. Three tasks with 25 slots
// each, half more than that, keep up; with 15 each they do not.
func TestChoosing_Slots(t *testing.T) {
	for slots, grows := range map[int]bool{15: true, 25: false} {
		s := stackOf(5*time.Minute, 500, 0, 100*time.Millisecond)
		s.Mapping, s.Containers = nil, &model.Containers{Tasks: 3, Slots: slots}
		r := reported(t, s)
		if (r.Totals.Left > 5_000) != grows {
			t.Errorf("%d slots: %d messages are left", slots, r.Totals.Left)
		}
		busy := 0
		for _, sample := range r.Samples {
			busy += sample.Concurrency
		}
		near(t, fmt.Sprint("busy of ", 3*slots), float64(busy)/float64(len(r.Samples)), float64(min(50, 3*slots)), 0.1)
	}
}

// heartbeats of a message = time of a message ÷ (SQSBATCH_VISIBILITY ÷ 3), rounded up, less 1: 29 for
// 10 minutes with 1 minute.
func TestChoosing_Heartbeats(t *testing.T) {
	for visibility, want := range map[time.Duration]int{30 * time.Second: 59, time.Minute: 29, 10 * time.Minute: 2} {
		s := stackOf(20*time.Minute, 0, 1, 10*time.Minute)
		s.Mapping, s.Containers = nil, &model.Containers{Visibility: visibility}
		if r := reported(t, s); r.Totals.Requests.Visibility != want || r.Totals.Handled != 1 {
			t.Errorf("visibility %s: %d heartbeats, want %d; %+v", visibility, r.Totals.Requests.Visibility, want, r.Totals)
		}
	}
}
