package emf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// doc is a document, read by the rules of the specification and its JSON schema.
type doc struct {
	timestamp  int64
	namespace  string
	dimensions map[string]string
	units      map[string]string
	values     map[string]map[float64]int // of each metric
	properties map[string]any
	line       string
}

// units are those of MetricDatum in the CloudWatch API reference.
var units = strings.Fields(`Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits Megabits Gigabits
	Terabits Percent Count Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second Bits/Second Kilobits/Second
	Megabits/Second Gigabits/Second Terabits/Second Count/Second None`)

// read reads lines, each of which must be a document.
func read(t *testing.T, written string) (docs []doc) {
	t.Helper()
	if written == "" {
		return nil
	}
	if !strings.HasSuffix(written, "\n") {
		t.Errorf("the last line has no end: %s", written)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(written, "\n"), "\n") {
		d, err := parse(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		docs = append(docs, d)
	}
	return docs
}

func parse(line string) (doc, error) {
	d := doc{dimensions: map[string]string{}, units: map[string]string{}, values: map[string]map[float64]int{}, line: line}
	if len(line) > 256<<10 {
		return d, fmt.Errorf("%d bytes are more than a log event may have", len(line))
	}
	var root map[string]json.RawMessage
	err := json.Unmarshal([]byte(line), &root)
	if err != nil {
		return d, err
	}
	twice := func(name string) bool { return strings.Count(line, fmt.Sprintf("%q:", name)) != 1 }
	var meta struct {
		Timestamp         *int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct {
				Name, Unit        string
				StorageResolution int
			}
		}
	}
	strict := json.NewDecoder(bytes.NewReader(root["_aws"]))
	strict.DisallowUnknownFields() // no additional members
	if err := strict.Decode(&meta); err != nil {
		return d, fmt.Errorf("_aws: %w", err)
	}
	if meta.Timestamp == nil || len(meta.CloudWatchMetrics) != 1 || twice("_aws") {
		return d, fmt.Errorf("a timestamp %v, %d directives, %d times", meta.Timestamp, len(meta.CloudWatchMetrics), strings.Count(line, `"_aws":`))
	}
	directive := meta.CloudWatchMetrics[0]
	d.timestamp, d.namespace = *meta.Timestamp, directive.Namespace
	if n := len(d.namespace); n < 1 || n > 255 {
		return d, fmt.Errorf("a namespace of %d characters", n)
	}
	if len(directive.Dimensions) != 1 || len(directive.Dimensions[0]) > 30 {
		return d, fmt.Errorf("dimensions %v", directive.Dimensions)
	}
	delete(root, "_aws")
	for _, name := range directive.Dimensions[0] {
		var value string
		if err := json.Unmarshal(root[name], &value); err != nil || value == "" || len(value) > 1024 || len(name) > 250 || twice(name) {
			return d, fmt.Errorf("dimension %q is %s", name, root[name])
		}
		d.dimensions[name] = value
		delete(root, name)
	}
	if n := len(directive.Metrics); n < 1 || n > 100 {
		return d, fmt.Errorf("%d metrics", n)
	}
	for _, m := range directive.Metrics {
		if m.Name == "" || len(m.Name) > 1024 || !slices.Contains(units, m.Unit) || m.StorageResolution != 0 && m.StorageResolution != 1 && m.StorageResolution != 60 {
			return d, fmt.Errorf("metric %+v", m)
		}
		if d.values[m.Name] != nil || twice(m.Name) {
			return d, fmt.Errorf("metric %q is there twice", m.Name)
		}
		if d.values[m.Name], err = target(root[m.Name]); err != nil {
			return d, fmt.Errorf("%s: %w", m.Name, err)
		}
		d.units[m.Name] = m.Unit
		delete(root, m.Name)
	}
	d.properties = map[string]any{}
	for name, value := range root {
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			return d, err
		}
		d.properties[name] = v
	}
	return d, nil
}

// target reads a metric's value: a number, up to 100 numbers, or up to 100
// values with their counts and statistics that agree with these.
func target(raw json.RawMessage) (map[float64]int, error) {
	got := map[float64]int{}
	var single float64
	if json.Unmarshal(raw, &single) == nil {
		got[single]++
		return got, nil
	}
	var list []float64
	if json.Unmarshal(raw, &list) == nil {
		if len(list) < 1 || len(list) > 100 || !slices.IsSorted(list) {
			return nil, fmt.Errorf("%d values %v", len(list), list)
		}
		for _, x := range list {
			got[x]++
		}
		return got, nil
	}
	var h struct {
		Values               []float64
		Counts               []int
		Min, Max, Count, Sum float64
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&h); err != nil {
		return nil, err
	}
	if n := len(h.Values); n < 1 || n > 100 || n != len(h.Counts) {
		return nil, fmt.Errorf("%d values with %d counts", n, len(h.Counts))
	}
	count, sum := 0, 0.0
	for i, x := range h.Values {
		if h.Counts[i] < 1 {
			return nil, fmt.Errorf("a count of %d", h.Counts[i])
		}
		got[x] += h.Counts[i]
		count += h.Counts[i]
		sum += x * float64(h.Counts[i])
	}
	if h.Min != slices.Min(h.Values) || h.Max != slices.Max(h.Values) || h.Count != float64(count) || math.Abs(h.Sum-sum) > sum*1e-9 {
		return nil, fmt.Errorf("statistics %+v, want a count of %d and a sum of %v", h, count, sum)
	}
	return got, nil
}
