package rules

import (
	"regexp"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// An Alarm is one of CloudWatch's, with the template's queues by ARN.
type Alarm struct {
	template.Resource
	sources map[string]*Source
}

// Metrics of SQS that alarms watch.
const (
	ageMetric   = "ApproximateAgeOfOldestMessage"
	depthMetric = "ApproximateNumberOfMessagesVisible"
	alarmPage   = "Available CloudWatch metrics for Amazon SQS"
)

// queue returns the queue in the alarm's dimensions, nil when it is not the template's.
func (a Alarm) queue() *Source {
	name, _ := QueueOf(a.Get("Dimensions"))
	for _, s := range a.sources {
		if name != "" && s.Name == name {
			return s
		}
	}
	return nil
}

// QueueOf is the QueueName in dimensions, false if it is not known whether there is one.
func QueueOf(dimensions template.Value) (name string, known bool) {
	list, err := dimensions.List()
	known = err == nil
	for _, d := range list {
		key, err := d.Get("Name").Str()
		known = known && err == nil
		if key != "QueueName" {
			continue
		}
		name, err = d.Get("Value").Str()
		return name, err == nil
	}
	return "", known
}

// alarms are what the template's alarms watch.
type alarms struct {
	any     bool
	unsure  bool               // there are alarms whose metric or queue is not known
	metrics map[[2]string]bool // metric and name of the queue
}

// alarmsOf lists what the template's alarms watch, expressions included.
func alarmsOf(st *template.Stack, list []template.Resource) *alarms {
	w := &alarms{metrics: map[[2]string]bool{}, unsure: st.Unsure("AWS::CloudWatch::Alarm")}
	watch := func(metric template.Value) {
		name, err := metric.Get("MetricName").Str()
		queue, known := QueueOf(metric.Get("Dimensions"))
		w.unsure = w.unsure || err != nil || !known
		w.metrics[[2]string{name, queue}] = true
	}
	for _, a := range list {
		w.any = true
		watch(a.Get())
		metrics, err := a.Get("Metrics").List()
		w.unsure = w.unsure || err != nil
		for _, m := range metrics {
			watch(m.Get("MetricStat", "Metric"))
			expression, err := m.Get("Expression").Str()
			w.unsure = w.unsure || err != nil || Searches(expression)
		}
	}
	return w
}

var searching = regexp.MustCompile(`(?is)\bselect\b.*(sqs|approximate)`)

// Searches reports whether an expression may be about the metrics of many queues, which it does not
// name ("Create alarms on Metrics Insights queries").
func Searches(expression string) bool { return searching.MatchString(expression) }

// missing reports whether the template has alarms, and surely none on a queue's metric. A
// template without any alarm is no finding: they are usually in a stack of their own.
func (w *alarms) missing(metric, queue string) bool {
	return w != nil && w.any && !w.unsure && !w.metrics[[2]string{metric, queue}]
}

// watched are rules of a queue about its alarms.
var watched = []Rule[Source]{
	{
		Info: Info{ID: "SB502", Severity: Note, Page: alarmPage,
			Title: "No alarm on the age of the oldest message",
			Why:   "The age rises when consumers are too slow and when none run, whatever the number of messages. This is reported only if the template has other alarms, since alarms are often in a stack of their own. Of deployed queues it is always reported."},
		check: func(s Source, r *reporter) {
			if s.polled() && s.alarms.missing(ageMetric, s.Name) {
				r.report(s.Resource.Pos, "queue %s has no alarm on %s", title(s.Queue), ageMetric)
			}
		},
	},
	{
		Info: Info{ID: "SB503", Severity: Warning, Page: alarmPage,
			Title: "No alarm on the depth of a dead-letter queue",
			Why:   "Nobody learns of dead letters, which are deleted when their retention ends. This is reported only if the template has other alarms, since alarms are often in a stack of their own. Of deployed queues it is always reported."},
		check: func(s Source, r *reporter) {
			if len(s.deadOf) > 0 && !s.polled() && s.alarms.missing(depthMetric, s.Name) {
				r.report(s.Resource.Pos, "dead-letter queue %s has no alarm on %s", title(s.Queue), depthMetric)
			}
		},
	},
}

// Alarms are the rules of an alarm.
var Alarms = []Rule[Alarm]{{
	Info: Info{ID: "SB501", Severity: Warning, Page: alarmPage,
		Title: "An alarm on age goes off at a single record that keeps failing",
		Why:   "With the toolkit a record that keeps failing is retried for up to half more than the outage that it outlives (SQSBATCH_OUTAGE), and SQS reports its age once a minute. Functions that have none of the toolkit's variables, and consumers that are not in the template, are judged by visibility timeout × maxReceiveCount: that is a note without a fix, since they may change the visibility timeout. Queues without a RedrivePolicy are not judged: there an alarm on age is the only sign of such a record, and in a dead-letter queue every record is old."},
	check: func(a Alarm, r *reporter) {
		metric, _ := a.Get("MetricName").Str()
		s := a.queue()
		if metric != ageMetric || s == nil || s.MaxReceiveCount == 1 || !r.known(s.Resource.Get("RedrivePolicy")) || !s.redriven() {
			return
		}
		threshold := a.Get("Threshold")
		seconds, ok := r.number(threshold)
		if !ok {
			return
		}
		const says = "%s goes off at an age of %d seconds, while "
		if v, ours := s.toolkit(); ours {
			if !v.knownBackoff(r) {
				return
			}
			if least := v.retried(s.MaxReceiveCount) + time.Minute; time.Duration(seconds)*time.Second <= least {
				round := (least/time.Second/300 + 1) * 300
				r.report(threshold.Pos, says+"the toolkit retries a record of queue %s that keeps failing for up to %d", a.ID, seconds, title(s.Queue), least/time.Second).
					Fix = setting(a.Get(), "Threshold", int(round))
			}
			return
		}
		if !r.known(s.Resource.Get("VisibilityTimeout")) || s.MaxReceiveCount == 0 {
			return
		}
		if least := s.Visibility() * time.Duration(s.MaxReceiveCount); time.Duration(seconds)*time.Second < least {
			r.report(threshold.Pos, says+"a record of queue %s that keeps failing may be retried for %d (%d receives, each with the VisibilityTimeout)", a.ID, seconds, title(s.Queue), least/time.Second, s.MaxReceiveCount).
				Severity = Note // consumers may change the visibility timeout
		}
	},
}}
