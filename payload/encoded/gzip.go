package encoded

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
)

// maxAttributes is the limit of attributes for a message ("Amazon SQS message quotas" in the
// Amazon SQS Developer Guide).
const maxAttributes = 10

// Prepare is [Config.Prepare] with the defaults.
func Prepare(ctx context.Context, m *sender.Message) error { return Config{}.Prepare(ctx, m) }

// Prepare is for sender.Config.Prepare. It compresses the body and adds the attribute
// Content-Encoding. A message that would become longer stays unchanged, or gets the attribute
// with the value "identity" if [Config.Default] is set.
//
// A body that would be compressed and is larger than [Config.MaxBytes] is an error, because the
// receiver would refuse it. Set MaxBytes at both ends.
//
// A message that has the attribute already, or ten attributes, which is SQS's limit, is left
// unchanged. With [Config.Default], ten attributes without this one are an error.
func (c Config) Prepare(_ context.Context, m *sender.Message) error {
	name := cmp.Or(c.Attribute, Attribute)
	if _, there := m.Attributes[name]; there {
		return nil
	}
	if len(m.Attributes) >= maxAttributes {
		if c.Default == "" {
			return nil
		}
		// Without the attribute, the receiver would take the body for compressed.
		return fmt.Errorf("encoded: the message has %d attributes and SQS allows %d: no room for %s", len(m.Attributes), maxAttributes, name)
	}
	body, coding := deflate(m.Body), "gzip"
	if len(body)+len(name)+len("String"+coding) >= len(m.Body) {
		if c.Default == "" {
			return nil
		}
		body, coding = m.Body, "identity"
	}
	if max := cmp.Or(c.MaxBytes, MaxBytes); coding == "gzip" && len(m.Body) > max {
		return fmt.Errorf("encoded: the body has %d bytes, more than MaxBytes (%d), which the receiver would refuse: set MaxBytes at both ends", len(m.Body), max)
	}
	attributes := maps.Collect(maps.All(m.Attributes))
	attributes[name] = batch.MessageAttribute{DataType: "String", StringValue: coding}
	m.Body, m.Attributes = body, attributes
	return nil
}

// writers reuses writers, because each takes about 800 KB.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func deflate(body string) string {
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	var compressed bytes.Buffer // writing to it does not fail
	w.Reset(&compressed)
	_, _ = strings.NewReader(body).WriteTo(w)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(compressed.Bytes())
}
