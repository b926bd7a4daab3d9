package encoded

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
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
	name := c.attribute()
	if _, there := attributes[name]; there {
		return body, attributes, fmt.Errorf("encoded: the message has the attribute %s already", name)
	}
	if len(attributes) >= maxAttributes {
		return body, attributes, fmt.Errorf("encoded: the message has %d attributes and SQS allows %d: no room for %s", len(attributes), maxAttributes, name)
	}
	text, coding := deflate(body), "gzip"
	if len(text)+len(name)+len("String"+coding) >= len(body) {
		if c.Default == "" {
			return body, attributes, nil
		}
		text, coding = body, "identity"
	}
	added := make(map[string]types.MessageAttributeValue, len(attributes)+1)
	maps.Copy(added, attributes)
	added[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(coding)}
	return text, added, nil
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
