package simulate

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
)

// Each finding has the figures of the run, and the setting that follows from them. Without its
// cause there is none.
func TestFindings_FollowFromTheRun(t *testing.T) {
	down := model.Trouble{Kind: model.Errors, From: 10 * time.Minute, Until: 50 * time.Minute}
	sent := []model.Sample{{At: 1800, Sent: 360_000}, {At: 3600, Sent: 360_000}}
	busy := []model.Sample{{At: 1800, Concurrency: 10, Visible: 900, Handled: 90_000}, {At: 3600}}
	for name, tt := range map[string]struct {
		s           func(s *model.Scenario)
		r           model.Report
		check       func(a analysis) *finding
		want, tries string
	}{
		"the quota": {
			s:     func(s *model.Scenario) { s.Troubles = []model.Trouble{down} },
			r:     model.Report{Peaks: model.Peaks{AtQuota: 90, QuotaFrom: 1200, QuotaUntil: 1800}, Samples: sent, Every: 1800},
			check: analysis.quota, want: "From 0:20 to 0:30 the quota of 120,000 messages in flight held back receives, for 1m30s in all. Healthy messages waited, too. Records that failed wait in flight, and 200 a second failed: lower SQSBATCH_OUTAGE, now 15m, or switch the event source mapping off", tries: "[SQSBATCH_OUTAGE=6m]",
		},
		"the quota of containers": {
			s: func(s *model.Scenario) {
				s.Troubles, s.Mapping, s.Containers = []model.Trouble{down}, nil, &model.Containers{}
			},
			r:     model.Report{Peaks: model.Peaks{AtQuota: 90}, Samples: sent, Every: 1800},
			check: analysis.quota, want: "or return batch.Abort", tries: "[SQSBATCH_OUTAGE=6m]",
		},
		"no quota": {check: analysis.quota},
		"an outage that is too long": {
			s:     func(s *model.Scenario) { s.Troubles = []model.Trouble{down} },
			r:     model.Report{Totals: model.Totals{Healthy: 1200}},
			check: analysis.outage, want: "1,200 healthy messages became dead letters. The outage of 40m is longer than SQSBATCH_OUTAGE, 15m.", tries: "[SQSBATCH_OUTAGE=40m]",
		},
		"an outage with a backoff": {
			s:     func(s *model.Scenario) { s.Troubles, s.Toolkit.BackoffBase = []model.Trouble{down}, time.Second },
			r:     model.Report{Totals: model.Totals{Healthy: 1}},
			check: analysis.outage, want: "1 healthy message became dead letters. The backoff does not cover the outage of 40m: leave out SQSBATCH_BACKOFF",
		},
		"a bad deploy": {
			s:     func(s *model.Scenario) { s.Troubles = []model.Trouble{{Kind: model.Permanents, Until: time.Minute}} },
			r:     model.Report{Totals: model.Totals{Healthy: 5}},
			check: analysis.outage, want: "The function returned batch.Permanent for them.",
		},
		"attempts used up": {
			r:     model.Report{Totals: model.Totals{Healthy: 5}},
			check: analysis.outage, want: "Each used up its 5 receives: raise maxReceiveCount.", tries: "[maxReceiveCount=10]",
		},
		"waits after an outage": {
			s: func(s *model.Scenario) {
				s.Queue.FIFO, s.Troubles = true, []model.Trouble{{Kind: model.Errors, Until: 270 * time.Second}}
			},
			r:     model.Report{Peaks: model.Peaks{Age: model.Peak{Value: 1200}}},
			check: analysis.waits, want: "The outage took 4m30s, and messages waited for up to 20m, because SQSBATCH_OUTAGE of 15m spaces their attempts. The rest of their FIFO groups waited with them. A shorter one", tries: "[SQSBATCH_OUTAGE=5m]",
		},
		"a wait as long as the outage": {
			s:     func(s *model.Scenario) { s.Troubles = []model.Trouble{down} },
			r:     model.Report{Peaks: model.Peaks{Age: model.Peak{Value: 2500}}},
			check: analysis.waits,
		},
		"no dead letters": {s: func(s *model.Scenario) { s.Troubles = []model.Trouble{down} }, check: analysis.outage},
		"throttles": {
			s:     func(s *model.Scenario) { s.Mapping.MaximumConcurrency, s.Function.Reserved = 0, 7 },
			r:     model.Report{Totals: model.Totals{Throttles: 1000, Throttled: 30, Healthy: 2}},
			check: analysis.throttled, want: "1,000 batches found no concurrency and waited. 30 deliveries used up an attempt, although no handler saw them. 2 healthy messages became dead letters. Set MaximumConcurrency", tries: "[MaximumConcurrency=7]",
		},
		"throttles of one": {
			s:     func(s *model.Scenario) { s.Mapping.MaximumConcurrency, s.Function.Reserved = 0, 1 },
			r:     model.Report{Totals: model.Totals{Throttles: 1}},
			check: analysis.throttled, want: "The least is 2, so reserve that, too.", tries: "[ReservedConcurrentExecutions=2 MaximumConcurrency=2]",
		},
		"throttles by others": {
			r:     model.Report{Totals: model.Totals{Throttles: 1}},
			check: analysis.throttled, want: "1 batch found no concurrency and waited.",
		},
		"no throttles": {check: analysis.throttled},
		"too slow": {
			r:     model.Report{Seconds: 3600, Totals: model.Totals{Sent: 720_000}, Samples: busy, Every: 1800},
			check: analysis.slow, want: "All 10 invocations were busy while messages waited, for 30m, first at 0:30. 50 records a second were handled then, and 200 a second are sent on average. With a higher MaximumConcurrency", tries: "[MaximumConcurrency=48]",
		},
		"busy without a backlog": {
			r:     model.Report{Seconds: 3600, Samples: []model.Sample{{Concurrency: 10, Visible: 100, Handled: 5}}, Every: 3600},
			check: analysis.slow,
		},
		"too late": {
			r:     model.Report{Totals: model.Totals{Deliveries: 1000, NotStarted: 10}},
			check: analysis.late, want: "10 deliveries used up an attempt without a handler", tries: "[SQSBATCH_CONCURRENCY=20]",
		},
		"late after an abort": {
			s:     func(s *model.Scenario) { s.Troubles = []model.Trouble{{Kind: model.Aborts}} },
			r:     model.Report{Totals: model.Totals{Deliveries: 1000, NotStarted: 10}},
			check: analysis.late,
		},
		"hangs":         {r: model.Report{Totals: model.Totals{Abandoned: 3}}, check: analysis.hanging, want: "3 handlers ran until they were abandoned."},
		"no hangs":      {check: analysis.hanging},
		"expired":       {r: model.Report{Totals: model.Totals{Expired: 3}}, check: analysis.expired, want: "SQS deleted 3 messages that nobody handled within the retention of 96h"},
		"not expired":   {check: analysis.expired},
		"duplicates":    {r: model.Report{Totals: model.Totals{Duplicates: 2}}, check: analysis.duplicates, want: "2 records were handled again"},
		"no duplicates": {check: analysis.duplicates},
		"no alarm":      {r: model.Report{Totals: model.Totals{DeadLetters: 2}}, check: analysis.silent, want: "No alarm rang, although there were 2 dead or expired messages. The template has 0 alarms"},
		"an alarm":      {r: model.Report{Totals: model.Totals{DeadLetters: 2}, Rings: []model.Ring{{}}}, check: analysis.silent},
	} {
		s := stackOf(time.Hour, 0, 0, time.Second)
		s.Queue.Retention = 96 * time.Hour
		if tt.s != nil {
			tt.s(&s)
		}
		f := tt.check(analysis{nil, &s, &tt.r})
		switch {
		case f == nil && tt.want != "" || f != nil && tt.want == "":
			t.Errorf("%s: %+v", name, f)
		case f == nil:
		case !strings.Contains(f.Text, tt.want):
			t.Errorf("%s: %s\nwant\n%s", name, f.Text, tt.want)
		case fmt.Sprint(f.try) != cmp.Or(tt.tries, "[]"):
			t.Errorf("%s: it tries %v, want %q", name, f.try, tt.tries)
		}
	}
}

// A finding's setting is simulated, and the output says what it does.
func TestFindings_AreSimulated(t *testing.T) {
	args := []string{"--rate", "2/s", "--outage", "40m@5m", "--for", "2h"}
	status, stdout, stderr := simulated(t, args...)
	if status != 0 {
		t.Fatal(stderr)
	}
	text := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{"healthy messages became dead letters. The outage of 40m is longer than SQSBATCH_OUTAGE, 15m. With SQSBATCH_OUTAGE=40m: the age peaks at", "0 healthy dead letters instead of "} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
	if status, stdout, _ = simulated(t, append(args, "--set", "SQSBATCH_OUTAGE=40m")...); status != 0 || strings.Contains(stdout, "dead letters") {
		t.Errorf("with the setting:\n%s", stdout)
	}
}

// --find takes the cheapest run that keeps the bounds, and says when there is none.
func TestFind_KeepsTheBounds(t *testing.T) {
	args := []string{"--burst", "3000", "--for", "20m", "--vary", "MaximumConcurrency=2,4,10,20", "--find"}
	status, stdout, _ := simulated(t, append(args, "--age", "10s")...)
	if want := "MaximumConcurrency=4 is the cheapest of 4 that keeps an age of at most 10s"; status != 0 || !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
		t.Errorf("status %d:\n%s\nwant %s", status, stdout, want)
	}
	status, _, stderr := simulated(t, append(args, "--age", "1ms")...)
	if status != 1 || !strings.Contains(stderr, "none of the 4 settings that were tried keeps the bounds") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
