package lint

import (
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// An Alarm is one of CloudWatch's, with the template's queues by ARN.
type Alarm struct {
	template.Resource
	sources map[string]*Source
}

// queue returns the queue in the alarm's dimensions, nil when it is not the
// template's.
func (a Alarm) queue() *Source {
	dimensions, _ := a.Get("Dimensions").List()
	for _, d := range dimensions {
		key, _ := d.Get("Name").Str()
		name, err := d.Get("Value").Str()
		for _, s := range a.sources {
			if key == "QueueName" && err == nil && s.Name == name {
				return s
			}
		}
	}
	return nil
}

// outage is how long a record that keeps failing is retried at least.
func (s *Source) outage() time.Duration {
	otherwise, _ := settings.Outage.Time(settings.Outage.Default)
	if s.mapping == nil {
		return otherwise
	}
	d, err := settings.Outage.Time(s.mapping.Function.Environment[settings.Outage.Name])
	if err != nil {
		return otherwise
	}
	return d
}

// Alarms are the rules of an alarm.
var Alarms = []Rule[Alarm]{{
	Info: Info{ID: "SB501", Severity: Warning,
		Title: "An alarm on age goes off at a single record that keeps failing",
		Why:   "A record that keeps failing is retried for up to half more than the outage that it outlives (SQSBATCH_OUTAGE). SQS reports its age once a minute.",
		Page:  "Available CloudWatch metrics for Amazon SQS"},
	check: func(a Alarm, report report) {
		metric, _ := a.Get("MetricName").Str()
		s := a.queue()
		if metric != "ApproximateAgeOfOldestMessage" || s == nil {
			return
		}
		threshold := a.Get("Threshold")
		seconds, err := threshold.Int(0)
		if least := s.outage()*3/2 + time.Minute; err == nil && time.Duration(seconds)*time.Second <= least {
			report(threshold.Pos, "%s goes off at an age of %d seconds, while a record that keeps failing is in queue %s for up to %d", a.ID, seconds, s.Name, least/time.Second)
		}
	},
}}
