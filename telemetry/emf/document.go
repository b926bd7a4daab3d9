package emf

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
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
	directive  []byte // its beginning, up to the names of the dimensions except Queue
	constant   []byte // members that are in every document, each after a comma
	resolution int    // StorageResolution; 0 leaves it out
	level      string // "" if lines need no level
	fixed      int    // largest size of a document without metrics, in bytes
}

// piece is a metric's member in a document: a number, or some of its values, as JSON.
type piece struct {
	metric *metric.Metric
	value  []byte
	layer  int // its index among the pieces of its metric: a document has each metric once
}

// size returns the largest size of a piece in a document, in bytes.
func (p *piece) size() int {
	return len(`{"Name":"","Unit":"","StorageResolution":1},`+`,"":`) + 2*len(p.metric.Name) + len(p.metric.Unit) + len(p.value)
}

func newDocuments(o *Config) *documents {
	d := &documents{level: logLevel()}
	if o.HighResolution {
		d.resolution = 1
	}
	members := map[string]string{"functionName": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "functionVersion": os.Getenv("AWS_LAMBDA_FUNCTION_VERSION")}
	if members["functionName"] == "" {
		members["hostname"], _ = os.Hostname()
	}
	maps.Copy(members, o.Properties)
	maps.DeleteFunc(members, func(_, value string) bool { return value == "" })
	maps.Copy(members, o.Dimensions)
	members["Service"] = o.Service
	d.constant = appendMembers(nil, members)
	d.directive = text([]byte(`,"CloudWatchMetrics":[{"Namespace":`), o.Namespace)
	d.directive = append(d.directive, `,"Dimensions":[["Service"`...)
	for _, name := range slices.Sorted(maps.Keys(o.Dimensions)) {
		d.directive = text(append(d.directive, ','), name)
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
	s.Counts(func(m *metric.Metric, value float64) { pieces = append(pieces, piece{m, number(nil, value), 0}) })
	s.Distributions(func(m *metric.Metric, v *metric.Values) {
		layer := 0
		for some := range slices.Chunk(v.Append(nil), maxValues) {
			pieces = append(pieces, piece{m, distribution(some), layer})
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
	size := d.fixed
	for i := range pieces {
		size += pieces[i].size()
	}
	b := append(make([]byte, 0, size), `{"_aws":{"Timestamp":`...)
	b = append(strconv.AppendInt(b, a.at.UnixMilli(), 10), d.directive...)
	if queue != "" {
		b = append(b, `,"Queue"`...)
	}
	b = append(b, `]],"Metrics":[`...)
	for i, p := range pieces {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, `{"Name":"`...), p.metric.Name...), `","Unit":"`...), p.metric.Unit...)
		if b = append(b, '"'); d.resolution > 0 {
			b = strconv.AppendInt(append(b, `,"StorageResolution":`...), int64(d.resolution), 10)
		}
		b = append(b, '}')
	}
	b = append(append(b, `]}]}`...), d.constant...)
	if queue != "" {
		b = text(append(b, `,"Queue":`...), queue)
	}
	if d.level != "" {
		b = text(append(b, `,"level":`...), d.level)
		b = a.now.UTC().AppendFormat(append(b, `,"timestamp":"`...), `2006-01-02T15:04:05.000Z"`)
	}
	if a.requestID != "" {
		b = text(append(b, `,"requestId":`...), a.requestID)
	}
	if a.cold {
		b = append(b, `,"coldStart":true`...)
	}
	if a.dropped > 0 {
		b = strconv.AppendInt(append(b, `,"droppedLines":`...), int64(a.dropped), 10)
	}
	for _, p := range pieces {
		b = append(append(append(append(b, `,"`...), p.metric.Name...), `":`...), p.value...)
	}
	return append(b, '}', '\n')
}

// distribution returns a metric's value: a list of numbers for up to a hundred observations,
// or values and counts with statistics for more. The specification does not mention the second
// form, but CloudWatch accepts it: AWS's OpenTelemetry exporter for this format (awsemf) writes
// histograms in it.
func distribution(some []metric.Value) []byte {
	count, sum := 0, 0.0
	for _, v := range some {
		count += v.Count
		sum += v.Value * float64(v.Count)
	}
	var values, counts []byte // each element after a comma
	for _, v := range some {
		times := v.Count
		if count > maxValues {
			times, counts = 1, strconv.AppendInt(append(counts, ','), int64(v.Count), 10)
		}
		for range times {
			values = number(append(values, ','), v.Value)
		}
	}
	if count <= maxValues {
		return append(append([]byte{'['}, values[1:]...), ']')
	}
	return fmt.Appendf(nil, `{"Values":[%s],"Counts":[%s],"Min":%s,"Max":%s,"Count":%d,"Sum":%s}`,
		values[1:], counts[1:], number(nil, some[0].Value), number(nil, some[len(some)-1].Value), count, number(nil, sum))
}

func number(b []byte, n float64) []byte { return strconv.AppendFloat(b, n, 'f', -1, 64) }

func text(b []byte, s string) []byte { return plainjson.AppendString(b, s) }

// appendMembers appends members of an object in order of their names, each after a comma.
func appendMembers(b []byte, members map[string]string) []byte {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b = text(append(text(append(b, ','), name), ':'), members[name])
	}
	return b
}
