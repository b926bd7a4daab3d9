package simulate

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
)

const statistics = `{"Label": "NumberOfMessagesSent", "Datapoints": [
	{"Timestamp": "2026-11-28T10:05:00+00:00", "Sum": 600.0, "Unit": "Count"},
	{"Timestamp": "2026-11-28T10:00:00+00:00", "Sum": 300.0, "Unit": "Count"}]}`

const metricData = `{"MetricDataResults": [{"Id": "m1", "Label": "NumberOfMessagesSent",
	"Timestamps": ["2026-11-28T10:05:00+00:00", "2026-11-28T10:00:00+00:00"], "Values": [600.0, 300.0], "StatusCode": "Complete"}]}`

// Every form of the same load has the same points: 1 a second for 5 minutes, then 2, then nothing.
func TestLoad_FilesHaveTheSamePoints(t *testing.T) {
	const minute = time.Minute
	want := []model.Point{
		{At: 0, PerSecond: 1}, {At: 5 * minute, PerSecond: 1}, {At: 5 * minute, PerSecond: 2}, {At: 10 * minute, PerSecond: 2}, {At: 10 * minute},
	}
	for name, text := range map[string]string{
		"get-metric-statistics": statistics,
		"get-metric-data":       metricData,
		"CSV with times":        "time,count\n2026-11-28T10:00:00Z,300\n2026-11-28T10:05:00Z,600\n",
		"CSV without titles":    "2026-11-28 10:00:00, 300\n2026-11-28 10:05:00, 600\n",
		"CSV with durations":    "# from a dashboard\n5m,600\n0s,300\n",
	} {
		points, err := parseLoad([]byte(text), time.Hour)
		if err != nil || !equal(points, want) {
			t.Errorf("%s: %v, %v; want %v", name, points, err, want)
		}
	}
}

func equal(a, b []model.Point) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].At != b[i].At || math.Abs(a[i].PerSecond-b[i].PerSecond) > 1e-9 {
			return false
		}
	}
	return true
}

func TestLoad_FilesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "it has 0 samples; at least two are needed",
		"{":                        "it is not what the AWS CLI prints as JSON",
		`{"Datapoints": []}`:       "it has 0 samples",
		"0s,1":                     "it has 1 samples",
		"time,count\n0s,1\nnoon,2": `line 3: the time is "noon"; it must be like 2026-11-28T10:00:00Z, or 5m`,
		"0s,1\n1m,many":            `line 2: the number of messages is "many"; it must be a number`,
		"0s,1,2":                   "it is neither JSON of CloudWatch nor CSV",
		"0s,1\n1m,-5":              "has -5 messages; it must be from 0 to",
		"0s,1\n1m,NaN":             "has NaN messages",
		"0s,1\n0s,2":               "two samples have the time",
		"0s,1e7\n1s,1":             "at most 100,000 a second are simulated",
		`{"Datapoints": [{"Timestamp": "2026-11-28T10:05:00Z", "Maximum": 1}]}`: "has no Sum; ask for it with --statistics Sum",
		`{"MetricDataResults": [{}, {}]}`:                                       "it has the results of 2 metrics",
		`{"MetricDataResults": [{"Timestamps": ["2026-11-28T10:05:00Z"]}]}`:     "it has 1 Timestamps and 0 Values",
	} {
		if _, err := parseLoad([]byte(text), time.Hour); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestRates_HavePointsInOrder(t *testing.T) {
	for text, want := range map[string][]model.Point{
		"500/s":              {{PerSecond: 500}},
		"30000/m":            {{PerSecond: 500}},
		"3600/h@10m":         {{}, {At: 10 * time.Minute}, {At: 10 * time.Minute, PerSecond: 1}},
		"1/s,5/s@30m,0/s@1h": {{PerSecond: 1}, {At: 30 * time.Minute, PerSecond: 5}, {At: time.Hour}},
	} {
		points, err := parseRates(text, time.Hour)
		if err != nil || !equal(points, want) {
			t.Errorf("%s: %v, %v; want %v", text, points, err, want)
		}
	}
	day, err := parseRates("day:20/s,200/s", 24*time.Hour)
	golden.OK(t, err)
	if len(day) != 97 || day[0].PerSecond != 20 || math.Abs(day[48].PerSecond-200) > 1e-9 || math.Abs(day[96].PerSecond-20) > 1e-9 {
		t.Errorf("a day has %d points: %v", len(day), day)
	}
	if n := messages(model.Load{Points: day}, 24*time.Hour); math.Abs(n-110*86400) > 1 {
		t.Errorf("a day from 20/s to 200/s has %f messages", n)
	}
}

// Files and steps of a rate can be simulated: 900 messages, and none before the step.
func TestLoad_IsSimulated(t *testing.T) {
	for _, args := range [][]string{
		{"--load", golden.File(t, "sent.json", statistics)},
		{"--load", golden.File(t, "sent.csv", "0s,300\n5m,600\n")},
		{"--rate", "1/s,1/s@5m,2/s@5m,2/s@10m,0/s@10m"},
		{"--rate", "1.5/s@50m"},
	} {
		status, stdout, stderr := simulated(t, args...)
		sent := regexp.MustCompile(`result +(\d+) messages sent`).FindStringSubmatch(stdout)
		if status != 0 || sent == nil {
			t.Errorf("%q: status %d %s%s", args, status, stdout, stderr)
			continue
		}
		n, err := strconv.Atoi(sent[1])
		golden.OK(t, err)
		near(t, strings.Join(args, " "), float64(n), 900, 0.15)
	}
}

// No file makes the command panic, or a load that is not one.
func FuzzParseLoad(f *testing.F) {
	for _, text := range []string{statistics, metricData, "0s,300\n5m,600\n", "time,count\n2026-11-28T10:00:00Z,300\n2026-11-28T10:05:00Z,600\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := parseLoad(data, time.Hour)
		if err != nil {
			return
		}
		last := time.Duration(0)
		for _, p := range points {
			if p.At < last || !(p.PerSecond >= 0 && p.PerSecond <= maxRate) {
				t.Fatalf("%q has the points %v", data, points)
			}
			last = p.At
		}
	})
}
