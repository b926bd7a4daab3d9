package emf

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
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
	maxHead    = 500 // bytes of them for metadata, level, queue and request
)

// about is what the documents of one report have in common.
type about struct {
	now       time.Time
	at        time.Time // the time of the metrics
	requestID string    // of the only invocation, on Lambda
	cold      bool
	dropped   int
}

// document writes documents one after another, reusing its memory.
type document struct {
	namespace   []byte // these four are JSON
	names       []byte // of all dimensions except Queue, separated by commas
	constant    []byte // members that are in every document
	definitions [][]byte
	level       string // "" if lines need no level

	pieces []piece
	values []metric.Value
	body   []byte // the pieces' members
	buf    []byte
}

// piece is a metric's member in a document: a number, or some of its values.
type piece struct {
	m        *metric.Metric
	layer    int // its index among the pieces of its metric: a document has each metric once
	from, to int // in document.body
}

func (d *document) init(o *Options) {
	d.level = logLevel()
	for _, m := range metric.All {
		b := text([]byte(`{"Name":`), m.Name)
		b = text(append(b, `,"Unit":`...), string(m.Unit))
		if o.HighResolution {
			b = append(b, `,"StorageResolution":1`...)
		}
		d.definitions = append(d.definitions, append(b, '}'))
	}
	d.namespace = text(nil, o.Namespace)
	d.names = text(nil, "Service")
	d.constant = member(nil, "Service", o.Service)
	for _, name := range slices.Sorted(maps.Keys(o.Dimensions)) {
		d.names = text(append(d.names, ','), name)
		d.constant = member(append(d.constant, ','), name, o.Dimensions[name])
	}
	properties := map[string]string{"functionName": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "functionVersion": os.Getenv("AWS_LAMBDA_FUNCTION_VERSION")}
	if properties["functionName"] == "" {
		properties["hostname"], _ = os.Hostname()
	}
	maps.Copy(properties, o.Properties)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if properties[name] != "" {
			d.constant = member(append(d.constant, ','), name, properties[name])
		}
	}
}

// logLevel returns the level that lines need so that Lambda keeps them. Lambda takes lines
// without a level and a timestamp (RFC 3339) for INFO. "" means none is needed.
func logLevel() string {
	level := strings.ToUpper(os.Getenv("AWS_LAMBDA_LOG_LEVEL"))
	if os.Getenv("AWS_LAMBDA_LOG_FORMAT") == "JSON" && slices.Contains([]string{"WARN", "ERROR", "FATAL"}, level) {
		return level
	}
	return ""
}

// write passes documents to line. Each ends with a newline and is valid until line returns.
func (d *document) write(a about, queue string, s *metric.Summary, line func([]byte)) {
	d.cut(s)
	for left := d.pieces; len(left) > 0; {
		n := d.fit(left)
		d.head(a, queue, left[:n])
		for _, p := range left[:n] {
			d.buf = append(d.buf, d.body[p.from:p.to]...)
		}
		d.buf = append(d.buf, '}', '\n')
		line(d.buf)
		left = left[n:]
	}
}

// cut makes pieces of a summary, ordered by layer.
func (d *document) cut(s *metric.Summary) {
	d.pieces, d.values, d.body = d.pieces[:0], d.values[:0], d.body[:0]
	begin := func(m *metric.Metric, layer int) {
		d.pieces = append(d.pieces, piece{m: m, layer: layer, from: len(d.body)})
		d.body = append(text(append(d.body, ','), m.Name), ':')
	}
	end := func() { d.pieces[len(d.pieces)-1].to = len(d.body) }
	s.Counts(func(m *metric.Metric, value float64) {
		begin(m, 0)
		d.body = number(d.body, value)
		end()
	})
	layers := 1
	s.Distributions(func(m *metric.Metric, v *metric.Values) {
		d.values = v.Append(d.values[:0])
		layer := 0
		for some := range slices.Chunk(d.values, maxValues) {
			begin(m, layer)
			d.body = values(d.body, some)
			end()
			layer++
		}
		layers = max(layers, layer)
	})
	if layers > 1 {
		slices.SortStableFunc(d.pieces, func(a, b piece) int { return a.layer - b.layer })
	}
}

// fit returns how many of the pieces fit into one document, at least one.
func (d *document) fit(left []piece) (n int) {
	size := len(d.namespace) + len(d.names) + len(d.constant) + maxHead
	for n = range left[:min(len(left), maxMetrics)] {
		p := left[n]
		size += len(d.definitions[p.m.Index()]) + 1 + p.to - p.from
		if n > 0 && (size > maxBytes || p.layer != left[0].layer) {
			return n
		}
	}
	return n + 1
}

// head writes the beginning of a document: its metadata, dimensions and properties.
func (d *document) head(a about, queue string, pieces []piece) {
	b := append(d.buf[:0], `{"_aws":{"Timestamp":`...)
	b = strconv.AppendInt(b, a.at.UnixMilli(), 10)
	b = append(append(b, `,"CloudWatchMetrics":[{"Namespace":`...), d.namespace...)
	b = append(append(b, `,"Dimensions":[[`...), d.names...)
	if queue != "" {
		b = append(b, `,"Queue"`...)
	}
	b = append(b, `]],"Metrics":[`...)
	for i, p := range pieces {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, d.definitions[p.m.Index()]...)
	}
	b = append(b, `]}]},`...)
	if d.level != "" {
		b = a.now.UTC().AppendFormat(append(b, `"timestamp":"`...), "2006-01-02T15:04:05.000Z")
		b = append(member(append(b, `",`...), "level", d.level), ',')
	}
	b = append(b, d.constant...)
	if queue != "" {
		b = member(append(b, ','), "Queue", queue)
	}
	if a.requestID != "" {
		b = member(append(b, ','), "requestId", a.requestID)
	}
	if a.cold {
		b = append(b, `,"coldStart":true`...)
	}
	if a.dropped > 0 {
		b = strconv.AppendInt(append(b, `,"droppedLines":`...), int64(a.dropped), 10)
	}
	d.buf = b
}

// values appends a distribution's values. Up to a hundred observations become a list of
// numbers. More become values and counts with statistics. The specification does not
// mention that form, but CloudWatch accepts it: AWS's OpenTelemetry exporter for this
// format (awsemf) writes histograms this way.
func values(b []byte, some []metric.Value) []byte {
	count, sum := 0, 0.0
	for _, v := range some {
		count += v.Count
		sum += v.Value * float64(v.Count)
	}
	if count <= maxValues {
		b = append(b, '[')
		for _, v := range some {
			for range v.Count {
				b = append(number(b, v.Value), ',')
			}
		}
		b[len(b)-1] = ']'
		return b
	}
	b = append(b, `{"Values":[`...)
	for _, v := range some {
		b = append(number(b, v.Value), ',')
	}
	b = append(b[:len(b)-1], `],"Counts":[`...)
	for _, v := range some {
		b = append(strconv.AppendInt(b, int64(v.Count), 10), ',')
	}
	b = number(append(b[:len(b)-1], `],"Min":`...), some[0].Value)
	b = number(append(b, `,"Max":`...), some[len(some)-1].Value)
	b = strconv.AppendInt(append(b, `,"Count":`...), int64(count), 10)
	b = number(append(b, `,"Sum":`...), sum)
	return append(b, '}')
}

// number appends a number in JSON.
func number(b []byte, x float64) []byte {
	if x == float64(int64(x)) && x < 1e15 && x > -1e15 {
		return strconv.AppendInt(b, int64(x), 10)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// member appends a member whose value is a text.
func member(b []byte, name, value string) []byte {
	return text(append(text(b, name), ':'), value)
}

// text appends a string in JSON.
func text(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // marshaling a string never fails
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
