package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// maxDuration bounds the time of a record: the longest timeout of a function.
const maxDuration = 90 * time.Minute

// readWork returns what the flags say of how long records take and which fail.
func (o *options) readWork() (w model.Work, err error) {
	if w.Durations, err = readDurations(o.duration); err != nil {
		return w, usagef("--duration is %q; %v", o.duration, err)
	}
	if err = parseShares(&w, o.fail); err != nil {
		return w, usagef("--fail is %q; %v", o.fail, err)
	}
	return w, nil
}

// readDurations reads a duration, lognormal:P50,P99 or a file of metrics.
func readDurations(text string) (d model.Durations, err error) {
	const forms = "it must be a duration like 100ms, lognormal:MEDIAN,P99 like lognormal:100ms,2s, or a file that --metrics of `sqsbatch local` wrote"
	if pair, ok := strings.CutPrefix(text, "lognormal:"); ok {
		median, slow, _ := strings.Cut(pair, ",")
		d.P50, err = parseDuration(median)
		if err == nil {
			d.P99, err = parseDuration(slow)
		}
		if err == nil && d.P99 < d.P50 {
			err = fmt.Errorf("the 99th percentile %s is below the median %s", slow, median)
		}
		return d, err
	}
	if _, err := time.ParseDuration(text); err == nil {
		d.Constant, err = parseDuration(text)
		return d, err
	}
	data, err := template.ReadFile(text, maxFile)
	if errors.Is(err, os.ErrNotExist) {
		return d, fmt.Errorf("there is no such file; %s", forms)
	}
	if err != nil {
		return d, err
	}
	d.Quantiles, err = parseMetrics(data)
	return d, err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxDuration {
		return 0, fmt.Errorf("%q must be a duration above 0, up to %s, like 100ms", text, brief(maxDuration))
	}
	return d, nil
}

// parseMetrics reads the durations in a file of --metrics, and returns their percentiles. Between
// those that the file has are straight lines.
func parseMetrics(data []byte) ([]time.Duration, error) {
	var r track.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("it is not a file that --metrics of `sqsbatch local` wrote: %w", err)
	}
	d := r.DurationMs
	if d == nil {
		return nil, errors.New("its durationMs is null: only functions that use sqsbatch have it, and only if they handled records")
	}
	percents, ms := []int{0, 50, 90, 99, 100}, []float64{d.Min, d.P50, d.P90, d.P99, d.Max}
	var list []time.Duration
	for i, at := range percents {
		if !(ms[i] >= 0 && ms[i] <= float64(maxDuration.Milliseconds())) || i > 0 && ms[i] < ms[i-1] {
			return nil, fmt.Errorf("its durationMs has %g ms at percentile %d; the percentiles must rise, from 0 to %s", ms[i], at, brief(maxDuration))
		}
		for p := len(list); p <= at; p++ {
			value := ms[i]
			if i > 0 {
				value = ms[i-1] + (ms[i]-ms[i-1])*float64(p-percents[i-1])/float64(at-percents[i-1])
			}
			list = append(list, time.Duration(value*float64(time.Millisecond)))
		}
	}
	return list, nil
}

// poison is what the names of shares begin with whose messages fail at every attempt.
const poison = "poison"

// verbs are the names of shares in --fail. Those with "poison-" before them are of messages that
// end so at every attempt; "poison" alone is of those that fail.
var verbs = []string{"retry", "permanent", "hang", "crash"}

// share returns the share of a name, nil if there is none.
func share(w *model.Work, name string) *float64 {
	of := &w.Outcomes
	if rest, ok := strings.CutPrefix(name, poison); ok {
		of, name = &w.Poison, strings.TrimPrefix(rest, "-")
		if rest == "" {
			name = "retry"
		}
	}
	switch name {
	case "retry":
		return &of.Retry
	case "permanent":
		return &of.Permanent
	case "hang":
		return &of.Hang
	case "crash":
		return &of.Crash
	}
	return nil
}

// parseShares reads 1%, or retry=1%,permanent=0.1%.
func parseShares(w *model.Work, text string) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "retry", part
		}
		p := share(w, name)
		if p == nil {
			return fmt.Errorf("there is no share %q; there are %s, poison, and poison-crash and so on", name, strings.Join(verbs, ", "))
		}
		n, err := parseShare(value)
		if err != nil {
			return err
		}
		*p = n
	}
	for _, of := range []model.Shares{w.Outcomes, w.Poison} {
		if sum := of.Retry + of.Permanent + of.Hang + of.Crash; sum > 1 {
			return fmt.Errorf("the shares add up to %g%%; at most 100%% can fail", sum*100)
		}
	}
	return nil
}

// parseShare reads 1% or 0.01.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if err != nil || !(n >= 0 && n <= 1) {
		return 0, fmt.Errorf("%q is not a share; it must be from 0%% to 100%%, like 0.1%%", text)
	}
	return n, nil
}

// readTroubles returns what --outage says goes wrong.
func (o *options) readTroubles() (list []model.Trouble, err error) {
	for _, text := range o.outages {
		t, err := parseTrouble(text)
		if err == nil && t.From >= o.length {
			err = fmt.Errorf("it begins at %s, when the simulation of %s (--for) is over", brief(t.From), brief(o.length))
		}
		if err != nil {
			return nil, usagef("--outage is %q; %v", text, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// kinds are the names of troubles. Those with a value need it.
var kinds = []struct {
	kind  model.Kind
	value string // what the value is, "" for a share, which has a default
	set   func(t *model.Trouble, value string) error
}{
	{model.Errors, "", nil},
	{model.Hangs, "", nil},
	{model.Permanents, "", nil},
	{model.Crashes, "", nil},
	{model.Slow, "a factor above 0 up to 1000, like slow=5", func(t *model.Trouble, value string) (err error) {
		t.Factor, err = strconv.ParseFloat(value, 64)
		return within(err, t.Factor > 0 && t.Factor <= 1000)
	}},
	{model.Aborts, "the time of the Abort from 0s to 12h, like aborts=30s", func(t *model.Trouble, value string) (err error) {
		t.After, err = time.ParseDuration(value)
		return within(err, t.After >= 0 && t.After <= 12*time.Hour)
	}},
	{model.Kills, "the time between two kills, at least 1s, like kills=5m", func(t *model.Trouble, value string) (err error) {
		t.Every, err = time.ParseDuration(value)
		return within(err, t.Every >= time.Second)
	}},
	{model.Throttle, "the concurrency that is left, from 0 to 100000, like throttle=2", func(t *model.Trouble, value string) (err error) {
		t.Concurrency, err = strconv.Atoi(value)
		return within(err, t.Concurrency >= 0 && t.Concurrency <= 100_000)
	}},
}

// within returns an error if a value could not be read, or is out of its bounds.
func within(err error, in bool) error {
	if err == nil && !in {
		err = errors.New("out of its bounds")
	}
	return err
}

// parseTrouble reads [KIND[=VALUE]:]LENGTH@START.
func parseTrouble(text string) (t model.Trouble, err error) {
	what, when, named := strings.Cut(text, ":")
	if !named {
		what, when = string(model.Errors), text
	}
	name, value, valued := strings.Cut(what, "=")
	i, names := -1, []string{}
	for k, of := range kinds {
		names = append(names, string(of.kind))
		if string(of.kind) == name {
			i = k
		}
	}
	if i < 0 {
		return t, fmt.Errorf("there is no kind %q; there are %s", name, strings.Join(names, ", "))
	}
	of := kinds[i]
	t.Kind = of.kind
	switch {
	case of.set != nil:
		if of.set(&t, value) != nil {
			return t, fmt.Errorf("%q needs %s", what, of.value)
		}
	case valued:
		if t.Share, err = parseShare(value); err == nil && t.Share == 0 {
			err = fmt.Errorf("%q must be above 0%%", value)
		}
		if err != nil {
			return t, err
		}
	}
	length, start, ok := strings.Cut(when, "@")
	lasts, bad := time.ParseDuration(length)
	if !ok || bad != nil || lasts <= 0 {
		return t, fmt.Errorf("%q must be a length and a start, like 20m@30m", when)
	}
	if t.From, err = parseTime(start); err != nil {
		return t, err
	}
	t.Until = t.From + lasts
	return t, nil
}
