package model

import "time"

// alarm is an alarm in a run.
type alarm struct {
	*sim
	*Alarm
	highest float64 // of the period
	over    []bool  // whether each of the latest periods was beyond the threshold
	since   time.Duration
}

// minute passes the metrics of a minute to the alarms: SQS sends one value a minute.
func (s *sim) minute() {
	for _, a := range s.alarms {
		a.highest = max(a.highest, a.value())
		if s.now%a.Period == 0 {
			a.evaluate()
		}
	}
	s.after(time.Minute, s.minute)
}

func (a *alarm) value() float64 {
	switch q := &a.queue; a.Metric {
	case VisibleMetric:
		return float64(q.visible)
	case InFlightMetric:
		return float64(q.inFlight)
	case DeadLettersMetric:
		return float64(a.r.Totals.DeadLetters)
	default:
		return q.age().Seconds()
	}
}

// evaluate ends a period.
func (a *alarm) evaluate() {
	beyond := a.highest > a.Threshold || a.OrEqual && a.highest == a.Threshold
	a.highest = 0
	a.over = append(a.over, beyond)
	a.over = a.over[max(0, len(a.over)-a.Periods):]
	n := 0
	for _, beyond := range a.over {
		if beyond {
			n++
		}
	}
	switch rings := n >= a.Datapoints; {
	case rings && a.since < 0:
		a.since = a.now
	case !rings && a.since >= 0:
		a.r.Rings = append(a.r.Rings, Ring{Alarm: a.Name, From: round(a.since), Until: round(a.now)})
		a.since = -1
	}
}

// finish notes an alarm that rings at the end.
func (a *alarm) finish() {
	if a.since >= 0 {
		a.r.Rings = append(a.r.Rings, Ring{Alarm: a.Name, From: round(a.since), Until: -1})
		a.since = -1
	}
}

var metrics = []Metric{AgeMetric, VisibleMetric, InFlightMetric, DeadLettersMetric}
