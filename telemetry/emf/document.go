package emf

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Limits of a document. They come from the specification, except the size: CloudWatch Logs
// takes 256 KB and more, but container runtimes split lines at 16 KiB.
const (
	maxMetrics = 100
	maxValues  = 100 // values of a metric
	maxBytes   = 16_000
	maxHead    = 500 // bytes of them for the level, queue and request
)

// about has the members that all documents of a report share.
type about struct {
	now       time.Time
	at        time.Time // of the metrics
	requestID string    // of the only invocation, on Lambda
	cold      bool
	dropped   int
}

type documents struct {
	namespace  string
	dimensions []string       // the names of all except Queue
	constant   map[string]any // members that are in every document
	resolution int            // StorageResolution; 0 leaves it out
	level      string         // "" if lines need no level
	fixed      int            // largest size of a document without metrics, in bytes
}

// metadata is the member _aws.
type metadata struct {
	Timestamp         int64
	CloudWatchMetrics [1]directive
}

type directive struct {
	Namespace  string
	Dimensions [1][]string
	Metrics    []definition
}

type definition struct {
	Name              string
	Unit              metric.Unit
	StorageResolution int `json:",omitempty"`
}

// piece is a metric's member in a document: a number, or some of its values.
type piece struct {
	definition
	value json.RawMessage
	layer int // its index among the pieces of its metric: a document has each metric once
}

// size returns the largest size of a piece in a document, in bytes.
func (p *piece) size() int {
	return len(`{"Name":"","Unit":"","StorageResolution":1},`+`,"":`) + 2*len(p.Name) + len(p.Unit) + len(p.value)
}

func newDocuments(o *Config) *documents {
	d := &documents{namespace: o.Namespace, dimensions: []string{"Service"}, constant: map[string]any{"Service": o.Service}, level: logLevel()}
	if o.HighResolution {
		d.resolution = 1
	}
	for _, name := range slices.Sorted(maps.Keys(o.Dimensions)) {
		d.dimensions = append(d.dimensions, name)
		d.constant[name] = o.Dimensions[name]
	}
	properties := map[string]string{"functionName": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "functionVersion": os.Getenv("AWS_LAMBDA_FUNCTION_VERSION")}
	if properties["functionName"] == "" {
		properties["hostname"], _ = os.Hostname()
	}
	maps.Copy(properties, o.Properties)
	for name, value := range properties {
		if value != "" {
			d.constant[name] = value
		}
	}
	d.fixed = len(d.encode(about{}, "", nil)) + maxHead
	return d
}

// logLevel returns the level that lines need so that Lambda keeps them; "" if they need none.
// Lambda takes lines without a level and a timestamp (RFC 3339) for INFO.
func logLevel() string {
	level := strings.ToUpper(os.Getenv("AWS_LAMBDA_LOG_LEVEL"))
	if os.Getenv("AWS_LAMBDA_LOG_FORMAT") == "JSON" && slices.Contains([]string{"WARN", "ERROR", "FATAL"}, level) {
		return level
	}
	return ""
}

// write passes the documents of a summary to line. Each ends with a newline.
func (d *documents) write(a about, queue string, s *metric.Summary, line func([]byte)) {
	for left := d.cut(s); len(left) > 0; {
		n := d.fit(left)
		line(d.encode(a, queue, left[:n]))
		left = left[n:]
	}
}

// cut makes pieces of a summary, ordered by layer.
func (d *documents) cut(s *metric.Summary) (pieces []piece) {
	add := func(m *metric.Metric, value any, layer int) {
		pieces = append(pieces, piece{definition{m.Name, m.Unit, d.resolution}, encoded(value), layer})
	}
	s.Counts(func(m *metric.Metric, value float64) { add(m, value, 0) })
	s.Distributions(func(m *metric.Metric, v *metric.Values) {
		layer := 0
		for some := range slices.Chunk(v.Append(nil), maxValues) {
			add(m, distribution(some), layer)
			layer++
		}
	})
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.layer - b.layer })
	return pieces
}

// fit returns how many of the pieces fit into one document, at least one.
func (d *documents) fit(left []piece) (n int) {
	size := d.fixed
	for n = range left[:min(len(left), maxMetrics)] {
		size += left[n].size()
		if n > 0 && (size > maxBytes || left[n].layer != left[0].layer) {
			return n
		}
	}
	return n + 1
}

// encode returns a document: the metadata first, then the other members.
func (d *documents) encode(a about, queue string, pieces []piece) []byte {
	members, dimensions := maps.Clone(d.constant), d.dimensions
	if queue != "" {
		members["Queue"], dimensions = queue, append(slices.Clip(dimensions), "Queue")
	}
	definitions := make([]definition, len(pieces))
	for i, p := range pieces {
		definitions[i], members[p.Name] = p.definition, p.value
	}
	if d.level != "" {
		members["level"], members["timestamp"] = d.level, a.now.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if a.requestID != "" {
		members["requestId"] = a.requestID
	}
	if a.cold {
		members["coldStart"] = true
	}
	if a.dropped > 0 {
		members["droppedLines"] = a.dropped
	}
	meta := metadata{a.at.UnixMilli(), [1]directive{{d.namespace, [1][]string{dimensions}, definitions}}}
	line := append([]byte(`{"_aws":`), encoded(meta)...)
	line = append(append(line, ','), encoded(members)[1:]...)
	return append(line, '\n')
}

// distribution returns a metric's value: a list of numbers for up to a hundred observations,
// or values and counts with statistics for more. The specification does not mention the second
// form, but CloudWatch accepts it: AWS's OpenTelemetry exporter for this format (awsemf) writes
// histograms in it.
func distribution(some []metric.Value) any {
	var all struct {
		Values   []float64
		Counts   []int
		Min, Max float64
		Count    int
		Sum      float64
	}
	all.Min, all.Max = some[0].Value, some[len(some)-1].Value
	for _, v := range some {
		all.Values, all.Counts = append(all.Values, v.Value), append(all.Counts, v.Count)
		all.Count += v.Count
		all.Sum += v.Value * float64(v.Count)
	}
	if all.Count > maxValues {
		return all
	}
	list := make([]float64, 0, all.Count)
	for _, v := range some {
		list = append(list, slices.Repeat([]float64{v.Value}, v.Count)...)
	}
	return list
}

// encoded returns v, of numbers and texts, in JSON.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // never fails for such values
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
