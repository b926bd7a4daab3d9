package model_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// small has a message a second for ten minutes.
func small() model.Scenario {
	return model.Scenario{
		For:      10 * time.Minute,
		Queue:    model.Queue{Visibility: time.Minute, MaxReceiveCount: 5},
		Mapping:  &model.Mapping{ReportBatchItemFailures: true},
		Function: model.Function{Timeout: 10 * time.Second},
		Work:     model.Work{Durations: model.Durations{P50: 100 * time.Millisecond, P99: 2 * time.Second}},
		Load:     model.Load{Points: []model.Point{{PerSecond: 1}}},
	}
}

func run(t *testing.T, s model.Scenario) *model.Report {
	t.Helper()
	r, err := model.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var update = flag.Bool("update", false, "write testdata/reports.txt")

// The hashes of the reports are kept, so that the tests with both versions of Go compare them.
func TestSameScenario_GivesTheSameBytes(t *testing.T) {
	const kept = "testdata/reports.txt"
	hashes := ""
	for _, c := range []struct {
		name   string
		change func(*model.Scenario)
	}{
		{"Lambda", func(*model.Scenario) {}},
		{"containers", func(s *model.Scenario) { s.Mapping, s.Containers = nil, &model.Containers{Tasks: 3} }},
		{"FIFO", func(s *model.Scenario) { s.Queue.FIFO = true }},
	} {
		name, change := c.name, c.change
		var texts [2][]byte
		for i := range texts {
			s := small()
			change(&s)
			s.Seed = 7
			s.Work.Outcomes = model.Shares{Retry: 0.1, Permanent: 0.05, Hang: 0.02, Crash: 0.01}
			s.Toolkit.BackoffBase = time.Second
			text, err := json.Marshal(run(t, s))
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = text
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("%s: %s\nand then\n%s", name, texts[0], texts[1])
		}
		hashes += fmt.Sprintf("%s %x\n", name, sha256.Sum256(texts[0]))
	}
	docpage.RequireCurrent(t, kept, docpage.Read(t, kept), hashes, *update)
}

func TestOtherSeed_GivesOtherArrivals(t *testing.T) {
	a, b := small(), small()
	b.Seed = 1
	if run(t, a).Totals.Sent == run(t, b).Totals.Sent {
		t.Error("two seeds send the same number of messages")
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := model.Run(ctx, small()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestBadScenario_IsAnErrorThatNamesTheField(t *testing.T) {
	for _, c := range []struct {
		change func(*model.Scenario)
		want   string
	}{
		{func(s *model.Scenario) { s.For = 0 }, "For is 0s: need 1s to 336h0m0s"},
		{func(s *model.Scenario) { s.For = 15 * 24 * time.Hour }, "For is 360h0m0s"},
		{func(s *model.Scenario) { s.Mapping = nil }, "set one of them"},
		{func(s *model.Scenario) { s.Containers = &model.Containers{} }, "set one of them"},
		{func(s *model.Scenario) { s.Queue.Visibility = -1 }, "Queue.Visibility is -1ns: need 0s to 12h0m0s"},
		{func(s *model.Scenario) { s.Queue.MaxReceiveCount = 1001 }, "Queue.MaxReceiveCount is 1001: need 0 to 1000"},
		{func(s *model.Scenario) { s.Queue.FIFO, s.Mapping.BatchSize = true, 11 }, "BatchSize is 11: a FIFO queue takes at most 10"},
		{func(s *model.Scenario) { s.Mapping.BatchSize = 100 }, "Mapping.Window is 0: a BatchSize of 100 needs at least 1s"},
		{func(s *model.Scenario) { s.Mapping.MaximumConcurrency = 1 }, "Mapping.MaximumConcurrency is 1: need 2 to 1000"},
		{func(s *model.Scenario) { s.Mapping.MinimumPollers = 3 }, "Mapping.MaximumPollers is 0: need 3 to 10000"},
		{func(s *model.Scenario) { s.Function.Timeout = 2 * time.Minute }, "Function.Timeout is 2m0s: need at most Queue.Visibility, 1m0s"},
		{func(s *model.Scenario) { s.Function.MemoryMB = 64 }, "Function.MemoryMB is 64: need 128 to 10240"},
		{func(s *model.Scenario) { s.Toolkit.Outage, s.Toolkit.BackoffBase = time.Minute, time.Second }, "set one of them"},
		{func(s *model.Scenario) { s.Toolkit.OnPermanent = "shred" }, `Toolkit.OnPermanent is "shred"`},
		{func(s *model.Scenario) { s.Work.Durations = model.Durations{P50: time.Second, P99: time.Millisecond} }, "Work.Durations.P99 is 1ms: need 1s to 12h0m0s"},
		{func(s *model.Scenario) { s.Work.Durations = model.Durations{Quantiles: []time.Duration{2, 1}} }, "Work.Durations.Quantiles[1] is 1ns: need 2ns"},
		{func(s *model.Scenario) { s.Work.Outcomes.Retry = math.NaN() }, "Work.Outcomes.Retry is NaN: need 0 to 1"},
		{func(s *model.Scenario) { s.Work.Poison = model.Shares{Retry: 0.6, Hang: 0.6} }, "Work.Poison adds up to 1.2: need at most 1"},
		{func(s *model.Scenario) { s.Load.Points = []model.Point{{PerSecond: math.Inf(1)}} }, "Load.Points[0].PerSecond is +Inf"},
		{func(s *model.Scenario) { s.Load.Points = []model.Point{{At: 2}, {At: 1}} }, "Load.Points[1].At is 1ns: need 3ns"},
		{func(s *model.Scenario) { s.Load.Points = []model.Point{{PerSecond: 1e5}} }, "Load has 60000000 messages in 10m0s: need at most 20000000"},
		{func(s *model.Scenario) { s.Load.Bursts = []model.Burst{{Messages: 0}} }, "Load.Bursts[0].Messages is 0: need 1 to"},
		{func(s *model.Scenario) { s.Troubles = []model.Trouble{{Kind: "rain", Until: 1}} }, `Troubles[0].Kind is "rain": need one of`},
		{func(s *model.Scenario) { s.Troubles = []model.Trouble{{Kind: model.Errors, From: 5, Until: 5}} }, "Troubles[0].Until is 5ns: need 6ns"},
		{func(s *model.Scenario) { s.Troubles = []model.Trouble{{Kind: model.Kills, Until: 5}} }, "Troubles[0].Every is 0s: need 1s"},
		{func(s *model.Scenario) { s.Alarms = []model.Alarm{{Metric: "weather"}} }, `Alarms[0].Metric is "weather"`},
		{func(s *model.Scenario) {
			s.Alarms = []model.Alarm{{Metric: model.AgeMetric, Periods: 2, Datapoints: 3}}
		}, "Alarms[0].Datapoints is 3: need 1 to 2"},
		{func(s *model.Scenario) { s.Prices.Requests = -1 }, "Prices.Requests is -1: need 0"},
		{func(s *model.Scenario) { s.Mapping, s.Containers = nil, &model.Containers{Slots: -1} }, "Containers.Slots is -1: need 1 to 10000"},
		{func(s *model.Scenario) {
			s.Mapping, s.Containers = nil, &model.Containers{Scaling: &model.Scaling{}}
		}, "Containers.Scaling.MessagesPerTask is 0: need 1"},
	} {
		s := small()
		c.change(&s)
		if _, err := model.Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// Lambda begins with 5 batches at a time and adds 300 a minute, up to 1,250.
func TestBacklog_MakesLambdaAdd300Minute(t *testing.T) {
	s := small()
	s.Mapping.BatchSize = 1
	s.Function.AccountLimit = 10_000
	s.Work.Durations = model.Durations{Constant: 5 * time.Second}
	s.Load = model.Load{Bursts: []model.Burst{{Messages: 200_000}}}
	r := run(t, s)
	for at, want := range map[float64]int{0: 5, 60: 305, 120: 605, 300: 1250} {
		for _, sample := range r.Samples {
			if sample.At == at && (sample.Concurrency < want-5 || sample.Concurrency > want+5) {
				t.Errorf("after %v s: %d invocations, want %d", at, sample.Concurrency, want)
			}
		}
	}
}

// An outage at 200 messages a second fills the quota in flight, and its alarms ring.
func TestOutage_FillsTheQuotaAtFullSize(t *testing.T) {
	s := small()
	s.For = 35 * time.Minute
	s.Load.Points[0].PerSecond = 200
	s.Mapping.MaximumConcurrency = 200
	s.Work.Durations = model.Durations{Constant: 50 * time.Millisecond}
	s.Troubles = []model.Trouble{{Kind: model.Errors, From: 5 * time.Minute, Until: 20 * time.Minute}}
	s.Alarms = []model.Alarm{
		{Name: "age", Metric: model.AgeMetric, Threshold: 60, Periods: 5, Datapoints: 3},
		{Name: "dead", Metric: model.DeadLettersMetric},
		{Name: "never", Metric: model.VisibleMetric, Threshold: 1e9},
	}
	r := run(t, s)
	if r.Peaks.InFlight.Value != 120_000 || r.Peaks.AtQuota < 60 || r.Peaks.QuotaFrom < 300 || r.Peaks.QuotaUntil > 1900 {
		t.Errorf("peaks %+v, want the quota of 120,000 to be reached during and after the outage", r.Peaks)
	}
	rang := map[string]model.Ring{}
	for _, ring := range r.Rings {
		rang[ring.Alarm] = ring
	}
	if age := rang["age"]; age.From < 300 || age.Until < age.From {
		t.Errorf("alarm of age: %+v, want it from the outage until it is over", age)
	}
	if dead := rang["dead"]; (r.Totals.DeadLetters > 0) != (dead.From > 300 && dead.Until == -1) {
		t.Errorf("%d dead letters, and their alarm rang %+v", r.Totals.DeadLetters, dead)
	}
	if _, ok := rang["never"]; ok {
		t.Error("an alarm rang whose threshold was not exceeded")
	}
}

// A function with too little reserved concurrency throttles, and messages reach the dead-letter queue that
// no handler has seen. With MaximumConcurrency they do not.
func TestReservedConcurrency_TakesAttempts(t *testing.T) {
	s := small()
	s.Function.Reserved = 1
	s.For, s.Queue.MaxReceiveCount, s.Queue.Visibility = 30*time.Minute, 2, 30*time.Second
	s.Work.Durations = model.Durations{Constant: 9 * time.Second}
	s.Function.Timeout = 30 * time.Second
	s.Load = model.Load{Bursts: []model.Burst{{Messages: 1000}}}
	if r := run(t, s); r.Totals.Throttled == 0 || r.Totals.Healthy == 0 {
		t.Errorf("reserved concurrency of 1: %+v, want throttled messages that become dead letters", r.Totals)
	}
	s.Function.Reserved, s.Mapping.MaximumConcurrency = 2, 2
	if r := run(t, s); r.Totals.Throttled != 0 || r.Totals.DeadLetters != 0 {
		t.Errorf("with MaximumConcurrency: %+v, want no throttles", r.Totals)
	}
}

func TestKills_MakeMessagesComeBack(t *testing.T) {
	for _, containers := range []bool{false, true} {
		s := small()
		s.Work.Durations = model.Durations{Constant: 3 * time.Second}
		s.Troubles = []model.Trouble{{Kind: model.Kills, Until: 8 * time.Minute, Every: 20 * time.Second}}
		if containers {
			s.Mapping, s.Containers = nil, &model.Containers{Tasks: 2}
		}
		r := run(t, s)
		if r.Totals.Errors < 10 || r.Totals.Deliveries <= r.Totals.Sent || r.Totals.DeadLetters > 0 {
			t.Errorf("containers %v: %+v, want deliveries that were repeated", containers, r.Totals)
		}
	}
}

// KEDA's scaler and target tracking add tasks for a backlog and remove them.
func TestScaling_FollowsTheBacklog(t *testing.T) {
	s := small()
	s.For = time.Hour
	s.Mapping = nil
	s.Containers = &model.Containers{Slots: 5, Scaling: &model.Scaling{MessagesPerTask: 100, Min: 1, Max: 8, InFlight: true, Start: 20 * time.Second}}
	s.Work.Durations = model.Durations{Constant: time.Second}
	s.Load.Bursts = []model.Burst{{At: 5 * time.Minute, Messages: 5000}}
	r := run(t, s)
	if r.Peaks.Tasks.Value != 8 || r.Samples[len(r.Samples)-1].Tasks != 1 || r.Totals.Left > 10 || r.Totals.DeadLetters > 0 {
		t.Errorf("peaks %+v, at the end %+v, totals %+v: want 8 tasks, and 1 at the end", r.Peaks.Tasks, r.Samples[len(r.Samples)-1], r.Totals)
	}
	if r.Totals.TaskHours < 1 || r.Totals.TaskHours > 4 {
		t.Errorf("%v task hours", r.Totals.TaskHours)
	}
}

// A message ends in one way.
func TestTotals_AddUp(t *testing.T) {
	for _, containers := range []bool{false, true} {
		s := small()
		s.Queue.Retention = 5 * time.Minute
		s.Load.Points[0].PerSecond = 20
		s.Work.Outcomes = model.Shares{Retry: 0.3, Permanent: 0.1, Hang: 0.01, Crash: 0.01}
		if containers {
			s.Mapping, s.Containers = nil, &model.Containers{Tasks: 2}
		}
		r := run(t, s)
		sum := r.Totals.Handled + r.Totals.DeadLetters + r.Totals.Dropped + r.Totals.Expired + r.Totals.Left
		// A record that was sent to the dead-letter queue may still be in the queue, or expire there.
		if sum < r.Totals.Sent || sum > r.Totals.Sent*101/100+10 {
			t.Errorf("%+v: %d messages, want %d", r.Totals, sum, r.Totals.Sent)
		}
	}
}
