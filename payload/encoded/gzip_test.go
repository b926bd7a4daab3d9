package encoded_test

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/sender"
)

// Gzip and Prepare do the same for the attributes of the SDK and of package sender, but
// where there is no room for the attribute.
func TestGzipAndPrepare(t *testing.T) {
	long := strings.Repeat(order, 100)
	ten := map[string]string{}
	for i := range 10 {
		ten[fmt.Sprint("a", i)] = "v"
	}
	withDefault := encoded.Config{Default: "gzip"}
	for name, c := range map[string]struct {
		cfg        encoded.Config
		body       string
		attributes map[string]string
		coding     string // none if it is left unchanged
		err        string // of Gzip
		refused    bool   // by Prepare, too
	}{
		"long":                          {body: long, coding: "gzip"},
		"long, with an attribute":       {body: long, attributes: map[string]string{"kind": "order"}, coding: "gzip"},
		"another name":                  {cfg: encoded.Config{Attribute: "encoding"}, body: long, coding: "gzip"},
		"short":                         {body: "x"},
		"short, with a default":         {cfg: withDefault, body: "x", coding: "identity"},
		"encoded already":               {body: long, attributes: map[string]string{encoded.Attribute: "identity"}, err: "has the attribute Content-Encoding already"},
		"encoded already, with default": {cfg: withDefault, body: long, attributes: map[string]string{encoded.Attribute: "identity"}, err: "Content-Encoding already"},
		"ten attributes":                {body: long, attributes: ten, err: "10 attributes"},
		"ten attributes, with default":  {cfg: withDefault, body: long, attributes: ten, err: "10 attributes", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			given, sdk := map[string]batch.MessageAttribute{}, map[string]types.MessageAttributeValue{}
			for name, value := range c.attributes {
				given[name] = batch.MessageAttribute{DataType: "String", StringValue: value}
				sdk[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
			}
			body, attributes, err := c.cfg.Gzip(c.body, sdk)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("Gzip: %v, want %q", err, c.err)
			}
			m := sender.Message{Body: c.body, Attributes: given}
			if err := c.cfg.Prepare(t.Context(), &m); (err != nil) != c.refused {
				t.Errorf("Prepare: %v", err)
			}
			if m.Body != body || len(sdk) != len(c.attributes) || len(given) != len(c.attributes) {
				t.Errorf("Prepare's body is %.40q, Gzip's %.40q; attributes that were given: %v, %v", m.Body, body, given, sdk)
			}
			want := maps.Collect(maps.All(c.attributes))
			if c.coding != "" {
				want[cmp.Or(c.cfg.Attribute, encoded.Attribute)] = c.coding
			}
			for name, value := range want {
				if m.Attributes[name].StringValue != value || aws.ToString(attributes[name].StringValue) != value || aws.ToString(attributes[name].DataType) != "String" {
					t.Errorf("Prepare's attributes are %v, Gzip's %v", m.Attributes, attributes)
				}
			}
			if len(m.Attributes) != len(want) || len(attributes) != len(want) || (c.coding == "gzip") != (len(body) < len(c.body)/10) || c.coding != "gzip" && body != c.body {
				t.Errorf("%d bytes of %d, with the attributes %v and %v", len(body), len(c.body), m.Attributes, attributes)
			}
			if c.coding == "" {
				return
			}
			r := batch.Record{Body: body, MessageAttributes: m.Attributes}
			if got, _, err := handle(t, c.cfg, r); err != nil || got.Body != c.body {
				t.Errorf("it arrives as %.40q, %v", got.Body, err)
			}
		})
	}
}
