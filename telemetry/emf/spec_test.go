package emf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
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

// mistakes keeps the first of a document.
type mistakes struct{ first error }

func (m *mistakes) unless(ok bool, format string, args ...any) {
	if !ok && m.first == nil {
		m.first = fmt.Errorf(format, args...)
	}
}

// decode reads an object without other members than those of v.
func decode(raw json.RawMessage, v any) error {
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	return strict.Decode(v)
}

func parse(line string) (doc, error) {
	d := doc{dimensions: map[string]string{}, units: map[string]string{}, values: map[string]map[float64]int{}, properties: map[string]any{}, line: line}
	var root map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &root); err != nil {
		return d, err
	}
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
	if err := decode(root["_aws"], &meta); err != nil || meta.Timestamp == nil || len(meta.CloudWatchMetrics) != 1 || len(meta.CloudWatchMetrics[0].Dimensions) != 1 {
		return d, fmt.Errorf("_aws: %+v: %w", meta, err)
	}
	var wrong mistakes
	directive := meta.CloudWatchMetrics[0]
	once := func(name string) bool { return strings.Count(line, fmt.Sprintf("%q:", name)) == 1 }
	d.timestamp, d.namespace = *meta.Timestamp, directive.Namespace
	wrong.unless(len(line) <= 256<<10, "%d bytes are more than a log event may have", len(line))
	wrong.unless(once("_aws"), "_aws is there twice")
	wrong.unless(len(d.namespace) >= 1 && len(d.namespace) <= 255, "a namespace of %d characters", len(d.namespace))
	wrong.unless(len(directive.Dimensions[0]) <= 30, "dimensions %v", directive.Dimensions)
	delete(root, "_aws")
	for _, name := range directive.Dimensions[0] {
		var value string
		err := json.Unmarshal(root[name], &value)
		wrong.unless(err == nil && value != "" && len(value) <= 1024 && len(name) <= 250 && once(name), "dimension %q is %s", name, root[name])
		d.dimensions[name] = value
		delete(root, name)
	}
	wrong.unless(len(directive.Metrics) >= 1 && len(directive.Metrics) <= 100, "%d metrics", len(directive.Metrics))
	for _, m := range directive.Metrics {
		wrong.unless(m.Name != "" && len(m.Name) <= 1024 && slices.Contains(types.StandardUnit("").Values(), types.StandardUnit(m.Unit)), "metric %+v", m)
		wrong.unless(slices.Contains([]int{0, 1, 60}, m.StorageResolution), "metric %+v", m)
		wrong.unless(d.values[m.Name] == nil && once(m.Name), "metric %q is there twice", m.Name)
		d.values[m.Name], d.units[m.Name] = wrong.target(root[m.Name]), m.Unit
		delete(root, m.Name)
	}
	for name, value := range root {
		var v any
		err := json.Unmarshal(value, &v)
		wrong.unless(err == nil, "%s: %v", name, err)
		d.properties[name] = v
	}
	return d, wrong.first
}

// target reads a metric's value: a number, up to 100 numbers, or up to 100
// values with their counts and statistics that agree with these.
func (m *mistakes) target(raw json.RawMessage) map[float64]int {
	var single float64
	if json.Unmarshal(raw, &single) == nil {
		return map[float64]int{single: 1}
	}
	got := map[float64]int{}
	var list []float64
	if json.Unmarshal(raw, &list) == nil {
		m.unless(len(list) >= 1 && len(list) <= 100 && slices.IsSorted(list), "%d values %v", len(list), list)
		for _, x := range list {
			got[x]++
		}
		return got
	}
	var h struct {
		Values               []float64
		Counts               []int
		Min, Max, Count, Sum float64
	}
	err := decode(raw, &h)
	if n := len(h.Values); err != nil || n < 1 || n > 100 || n != len(h.Counts) {
		m.unless(false, "%d values with %d counts: %v", n, len(h.Counts), err)
		return got
	}
	count, sum := 0, 0.0
	for i, x := range h.Values {
		m.unless(h.Counts[i] >= 1, "a count of %d", h.Counts[i])
		got[x] += h.Counts[i]
		count += h.Counts[i]
		sum += x * float64(h.Counts[i])
	}
	m.unless(h.Min == slices.Min(h.Values) && h.Max == slices.Max(h.Values) && h.Count == float64(count) && math.Abs(h.Sum-sum) <= sum*1e-9,
		"statistics %+v, want a count of %d and a sum of %v", h, count, sum)
	return got
}
