package encoded

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
)

// maxAttributes is how many attributes a message may have ("Amazon SQS message quotas" in
// the Amazon SQS Developer Guide).
const maxAttributes = 10

// Gzip is [Config.Gzip] with the defaults.
func Gzip(body string, attributes map[string]types.MessageAttributeValue) (string, map[string]types.MessageAttributeValue, error) {
	return Config{}.Gzip(body, attributes)
}

// Gzip is for senders. It compresses a body and returns it as text, with a copy of the
// attributes to which it has added Content-Encoding. If compressing would make the body
// longer, it returns body and attributes unchanged. Exception: with [Config.Default] it
// then adds the attribute with the value "identity".
//
// It returns an error if the attribute is there already, or if the message has ten
// attributes, which is SQS's limit. The body and attributes can then be sent as they are.
func (c Config) Gzip(body string, attributes map[string]types.MessageAttributeValue) (string, map[string]types.MessageAttributeValue, error) {
	return gzipTo(c, body, attributes, func(value string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	})
}

// Prepare is [Config.Prepare] with the defaults.
func Prepare(ctx context.Context, m *sender.Message) error { return Config{}.Prepare(ctx, m) }

// Prepare is for sender.Config.Prepare. It compresses the body as Gzip does. A message that
// has the attribute Content-Encoding already, or ten attributes, is left unchanged.
func (c Config) Prepare(_ context.Context, m *sender.Message) error {
	body, attributes, err := gzipTo(c, m.Body, m.Attributes, func(value string) batch.MessageAttribute {
		return batch.MessageAttribute{DataType: "String", StringValue: value}
	})
	if err == nil || c.Default == "" {
		m.Body, m.Attributes = body, attributes
		return nil
	}
	if _, there := m.Attributes[c.attribute()]; there {
		return nil
	}
	return err // the receiver would take it for compressed
}

// gzipTo is for the attributes of the SDK and of package batch, which text makes.
func gzipTo[V any](c Config, body string, attributes map[string]V, text func(string) V) (string, map[string]V, error) {
	name := c.attribute()
	if _, there := attributes[name]; there {
		return body, attributes, fmt.Errorf("encoded: the message has the attribute %s already", name)
	}
	if len(attributes) >= maxAttributes {
		return body, attributes, fmt.Errorf("encoded: the message has %d attributes and SQS allows %d: no room for %s", len(attributes), maxAttributes, name)
	}
	packed, coding := deflate(body), "gzip"
	if len(packed)+len(name)+len("String"+coding) >= len(body) {
		if c.Default == "" {
			return body, attributes, nil
		}
		packed, coding = body, "identity"
	}
	added := make(map[string]V, len(attributes)+1)
	maps.Copy(added, attributes)
	added[name] = text(coding)
	return packed, added, nil
}

// writers are reused because each takes about 800 KB.
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
