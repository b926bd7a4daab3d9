package simulate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

const (
	// maxRate bounds a rate, in messages a second.
	maxRate = 100_000
	// maxMessages bounds the messages of a simulation: each takes memory.
	maxMessages = 20_000_000
	// maxSize is the largest message ("Amazon SQS message quotas"), in bytes.
	maxSize = 1 << 20
	// maxFile bounds a file that is read, in bytes.
	maxFile = 64 << 20
)

// readLoad returns what the flags say is sent.
func (o *options) readLoad() (l model.Load, err error) {
	given := 0
	for _, flag := range []string{o.rate, o.load} {
		if flag != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return l, usagef("both --rate and --load say what is sent; give one")
	case given == 0 && len(o.bursts) == 0:
		return l, usagef("nothing is sent; give --rate 500/s, --burst 100000 or --load FILE")
	}
	if l.Bytes, err = parseSize(o.size); err != nil {
		return l, usagef("--size is %q; %v", o.size, err)
	}
	if o.rate != "" {
		if l.Points, err = parseRates(o.rate, o.length); err != nil {
			return l, usagef("--rate is %q; %v", o.rate, err)
		}
	}
	for _, text := range o.bursts {
		b, err := parseBurst(text)
		if err == nil && b.At >= o.length {
			err = fmt.Errorf("it begins at %s, when the simulation of %s (--for) is over", brief(b.At), brief(o.length))
		}
		if err != nil {
			return l, usagef("--burst is %q; %v", text, err)
		}
		l.Bursts = append(l.Bursts, b)
	}
	if o.load != "" {
		data, err := template.ReadFile(o.load, maxFile)
		if err == nil {
			if l.Points, err = parseLoad(data, o.length); err != nil {
				err = fmt.Errorf("%s: %w", o.load, err)
			}
		}
		if err != nil {
			return l, fmt.Errorf("--load: %w", err)
		}
	}
	for i := 1; i < len(l.Points); i++ { // the model has one rate at a time
		l.Points[i].At = max(l.Points[i].At, l.Points[i-1].At+1)
	}
	if n := messages(l, o.length); n > maxMessages {
		return l, usagef("%s messages would be sent in %s; at most %s are simulated: give a shorter --for, or a lower rate", show.Number(int(n)), brief(o.length), show.Number(maxMessages))
	}
	return l, nil
}

// messages returns how many messages are sent within a time.
func messages(l model.Load, length time.Duration) (n float64) {
	for i, p := range l.Points {
		until, next := length, p.PerSecond
		if i+1 < len(l.Points) {
			until, next = l.Points[i+1].At, l.Points[i+1].PerSecond
		}
		if until = min(until, length); until > p.At {
			n += (p.PerSecond + next) / 2 * (until - p.At).Seconds()
		}
	}
	for _, b := range l.Bursts {
		n += float64(b.Messages)
	}
	return n
}

// parseRates reads RATE, RATE,RATE@TIME… or day:LOW,HIGH.
func parseRates(text string, length time.Duration) (points []model.Point, err error) {
	if day, ok := strings.CutPrefix(text, "day:"); ok {
		return parseDay(day, length)
	}
	for i, part := range strings.Split(text, ",") {
		rate, at, timed := strings.Cut(part, "@")
		p := model.Point{}
		if p.PerSecond, err = parseRate(rate); err != nil {
			return nil, err
		}
		if timed {
			if p.At, err = parseTime(at); err != nil {
				return nil, err
			}
		}
		switch {
		case i == 0 && p.At > 0:
			points = append(points, model.Point{}, model.Point{At: p.At}) // nothing before
		case i > 0 && !timed:
			return nil, fmt.Errorf("%q needs a time, as in %[1]s@30m: only the first rate is that of the beginning", part)
		case i > 0 && p.At < points[len(points)-1].At:
			return nil, fmt.Errorf("%q comes before the point to its left; write the points in order of time", part)
		}
		points = append(points, p)
	}
	return points, nil
}

// parseDay reads LOW,HIGH: a day's curve, which is lowest at its beginning.
func parseDay(text string, length time.Duration) (points []model.Point, err error) {
	first, second, ok := strings.Cut(text, ",")
	if !ok {
		return nil, errors.New("a day's curve is written as day:LOW,HIGH, like day:20/s,200/s")
	}
	low, err := parseRate(first)
	if err != nil {
		return nil, err
	}
	high, err := parseRate(second)
	if err != nil {
		return nil, err
	}
	const step, day = 15 * time.Minute, 24 * time.Hour
	for at := time.Duration(0); at < length+step; at += step {
		share := (1 - math.Cos(2*math.Pi*float64(at)/float64(day))) / 2
		points = append(points, model.Point{At: at, PerSecond: low + (high-low)*share})
	}
	return points, nil
}

// parseRate reads a number and a unit, in messages a second.
func parseRate(text string) (float64, error) {
	number, unit, ok := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if !ok || err != nil || per == 0 {
		return 0, fmt.Errorf("%q is not a rate; write it as 500/s, 30000/m or 1000/h", text)
	}
	if n /= per; !(n >= 0 && n <= maxRate) {
		return 0, fmt.Errorf("%q must be from 0 to %s a second", text, show.Number(maxRate))
	}
	return n, nil
}

// parseBurst reads N[@START].
func parseBurst(text string) (b model.Burst, err error) {
	number, at, timed := strings.Cut(text, "@")
	n, err := strconv.ParseFloat(number, 64) // 1e6, too
	if err != nil || n < 1 || n > maxMessages || n != math.Trunc(n) {
		return b, fmt.Errorf("it must be a number from 1 to %d, and may have a time, as in 1000000@10m", maxMessages)
	}
	b.Messages = int(n)
	if timed {
		b.At, err = parseTime(at)
	}
	return b, err
}

// parseTime reads the time since the beginning.
func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time since the beginning; write it as 30m or 1h30m", text)
	}
	return d, nil
}

// parseSize reads a size in bytes.
func parseSize(text string) (int, error) {
	number, unit := strings.TrimRight(text, "kKMiB"), 1.0
	switch text[len(number):] {
	case "", "B":
	case "KB", "kB":
		unit = 1e3
	case "KiB":
		unit = 1 << 10
	case "MB":
		unit = 1e6
	case "MiB":
		unit = 1 << 20
	default:
		number = "" // an error
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || !(n >= 1 && n <= maxSize) {
		return 0, errors.New("it must be from 1 byte to 1MiB, like 800, 2KB or 256KiB")
	}
	return int(n), nil
}

// A sample is a number of messages that were sent from a time on.
type sample struct {
	at   time.Time
	sent float64
}

// parseLoad reads CloudWatch's JSON, or CSV. A sample lasts until the next one, and the last one
// as long as the one before it.
func parseLoad(data []byte, length time.Duration) ([]model.Point, error) {
	read := parseCSV
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		read = parseCloudWatch
	}
	samples, err := read(data)
	if err != nil {
		return nil, err
	}
	if len(samples) < 2 {
		return nil, fmt.Errorf("it has %d samples; at least two are needed, because a sample lasts until the next one", len(samples))
	}
	slices.SortFunc(samples, func(a, b sample) int { return a.at.Compare(b.at) })
	var points []model.Point
	for i, s := range samples {
		next := i + 1
		if next == len(samples) {
			next = i
		}
		lasts := samples[next].at.Sub(samples[max(0, next-1)].at)
		if lasts <= 0 {
			return nil, fmt.Errorf("two samples have the time %s; each time may be there once", s.at.Format(time.RFC3339))
		}
		rate := s.sent / lasts.Seconds()
		if rate > maxRate {
			return nil, fmt.Errorf("the sample at %s has %g messages in %s; at most %s a second are simulated", s.at.Format(time.RFC3339), s.sent, brief(lasts), show.Number(maxRate))
		}
		at := s.at.Sub(samples[0].at)
		points = append(points, model.Point{At: at, PerSecond: rate}, model.Point{At: at + lasts, PerSecond: rate})
		if at+lasts > length && i+1 < len(samples) {
			break
		}
	}
	return append(points, model.Point{At: points[len(points)-1].At}), nil
}

// parseCloudWatch reads what get-metric-statistics or get-metric-data print.
func parseCloudWatch(data []byte) (samples []sample, err error) {
	var in struct {
		Datapoints []struct {
			Timestamp time.Time
			Sum       *float64
		}
		MetricDataResults []struct {
			Timestamps []time.Time
			Values     []float64
		}
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("it is not what the AWS CLI prints as JSON: %w", err)
	}
	for _, d := range in.Datapoints {
		if d.Sum == nil {
			return nil, fmt.Errorf("the datapoint at %s has no Sum; ask for it with --statistics Sum", d.Timestamp.Format(time.RFC3339))
		}
		samples = append(samples, sample{d.Timestamp, *d.Sum})
	}
	if n := len(in.MetricDataResults); n > 1 {
		return nil, fmt.Errorf("it has the results of %d metrics; ask for NumberOfMessagesSent only", n)
	}
	for _, r := range in.MetricDataResults {
		if len(r.Timestamps) != len(r.Values) {
			return nil, fmt.Errorf("it has %d Timestamps and %d Values; their numbers must be equal", len(r.Timestamps), len(r.Values))
		}
		for i, at := range r.Timestamps {
			samples = append(samples, sample{at, r.Values[i]})
		}
	}
	return samples, negative(samples)
}

// negative returns an error if a sample is not a number of messages.
func negative(samples []sample) error {
	for _, s := range samples {
		if !(s.sent >= 0 && s.sent <= maxMessages) {
			return fmt.Errorf("the sample at %s has %g messages; it must be from 0 to %s", s.at.Format(time.RFC3339), s.sent, show.Number(maxMessages))
		}
	}
	return nil
}

// parseCSV reads lines of a time and a number. The first line may be a title.
func parseCSV(data []byte) (samples []sample, err error) {
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord, in.TrimLeadingSpace, in.Comment = 2, true, '#'
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return samples, negative(samples)
		}
		if err != nil {
			return nil, fmt.Errorf("it is neither JSON of CloudWatch nor CSV with a time and a number: %w", err)
		}
		line, _ := in.FieldPos(0)
		at, bad := parseMoment(fields[0])
		n, wrong := strconv.ParseFloat(strings.TrimSpace(fields[1]), 64)
		switch {
		case bad != nil && wrong != nil && len(samples) == 0 && line == 1: // titles
		case bad != nil:
			return nil, fmt.Errorf("line %d: the time is %.40q; it must be like 2026-11-28T10:00:00Z, or 5m since the beginning", line, fields[0])
		case wrong != nil:
			return nil, fmt.Errorf("line %d: the number of messages is %.40q; it must be a number", line, fields[1])
		default:
			samples = append(samples, sample{at, n})
		}
	}
}

// parseMoment reads a time, or a duration since the beginning.
func parseMoment(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if d, err := parseTime(text); err == nil {
		return time.Time{}.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("not a time")
}
