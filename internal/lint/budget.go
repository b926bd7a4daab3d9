package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// variable is a setting of the function's environment, its default if it is not set there
// or not known.
func variable[T any](m Mapping, s *settings.Setting, read func(string) (T, error)) T {
	v, err := read(m.Function.Environment[s.Name])
	if err != nil || m.Function.Environment[s.Name] == "" {
		v, _ = read(s.Default)
	}
	return v
}

// outage is how long a record that keeps failing is retried at least.
func (s *Source) outage() time.Duration {
	if len(s.mappings) == 0 {
		d, _ := settings.Outage.Time(settings.Outage.Default)
		return d
	}
	return variable(s.mappings[0], &settings.Outage, settings.Outage.Time)
}

// waits are the longest times from a failure of a record that keeps failing to its next
// attempt. Without the toolkit a record comes back when the visibility timeout is over.
func waits(m Mapping, count int) []time.Duration {
	if isForeign(m.Function.Resource) {
		return slices.Repeat([]time.Duration{max(0, m.Queue.Visibility()-m.Function.Timeout)}, count-1)
	}
	kind := m.Function.Environment[settings.Backoff.Name]
	if kind == "" {
		return settle.Delays(variable(m, &settings.Outage, settings.Outage.Time), count)
	}
	base := variable(m, &settings.BackoffBase, settings.BackoffBase.Time)
	limit := variable(m, &settings.BackoffCap, settings.BackoffCap.Time)
	var list []time.Duration
	for k := 1; k < count; k++ {
		d := base
		switch kind {
		case "linear":
			d = base * time.Duration(k)
		case "exponential":
			d = base << min(k-1, 30)
		}
		if kind != "constant" {
			d = min(d, limit)
		}
		list = append(list, max(d, time.Second))
	}
	return list
}

// budget is the check of SB207: what retries cost in time, against the queue's retention and
// SQS's 12 hours.
func budget(s Source, r *reporter) {
	if len(s.mappings) == 0 || s.MaxReceiveCount < 2 || s.MaxReceiveCount > 1000 {
		return
	}
	m := s.mappings[0]
	if m.Function.LogicalID == "" || !r.known(s.Resource.Get("MessageRetentionPeriod"), s.Resource.Get("VisibilityTimeout"), m.Function.Resource.Get("Timeout"), m.Function.Resource.Get("Runtime")) {
		return
	}
	for _, v := range []settings.Setting{settings.Outage, settings.Backoff, settings.BackoffBase, settings.BackoffCap} {
		if !r.known(valueOf(m.Function, v)) {
			return
		}
	}
	list := waits(m, s.MaxReceiveCount)
	var between, longest time.Duration
	for _, d := range list {
		between += d
		longest = max(longest, d)
	}
	total := between + time.Duration(s.MaxReceiveCount)*m.Function.Timeout
	at := s.Resource.Get("RedrivePolicy", "maxReceiveCount").Pos
	switch {
	case total > s.Retention():
		v := s.Resource.Get("MessageRetentionPeriod")
		r.report(v.Pos, "queue %s keeps messages for %v, and a record that keeps failing is retried for up to %v (%d attempts): it expires before it becomes a dead letter",
			title(s.Queue), words(s.Retention()), words(total), s.MaxReceiveCount)
	case longest+m.Function.Timeout+m.Event.Window > settle.MaxVisibility:
		r.report(at, "a record of queue %s may wait %v for an attempt, and with the function's Timeout of %v that is more than SQS's 12 hours from a receive",
			title(s.Queue), words(longest), words(m.Function.Timeout))
	case m.Function.Environment[settings.Backoff.Name] != "" && between < time.Minute:
		r.report(at, "the %d attempts of a record of queue %s are over after %v of backoff: an outage that is longer makes a dead letter of every record. "+
			"Without %s the attempts survive %s (15 minutes by default)", s.MaxReceiveCount, title(s.Queue), words(between), settings.Backoff.Name, settings.Outage.Name).Severity = Note
	}
}

// words writes a duration without parts that are zero.
func words(d time.Duration) string {
	if hours := d / time.Hour; hours >= 48 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", hours/24)
	}
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
