package encoded_test

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/sender"
)

func TestPrepare(t *testing.T) {
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
		err        string
	}{
		"long":                          {body: long, coding: "gzip"},
		"long, with an attribute":       {body: long, attributes: map[string]string{"kind": "order"}, coding: "gzip"},
		"another name":                  {cfg: encoded.Config{Attribute: "encoding"}, body: long, coding: "gzip"},
		"short":                         {body: "x"},
		"short, with a default":         {cfg: withDefault, body: "x", coding: "identity"},
		"encoded already":               {body: long, attributes: map[string]string{encoded.Attribute: "identity"}},
		"encoded already, with default": {cfg: withDefault, body: long, attributes: map[string]string{encoded.Attribute: "identity"}},
		"ten attributes":                {body: long, attributes: ten},
		"ten attributes, with default":  {cfg: withDefault, body: long, attributes: ten, err: "10 attributes"},
	} {
		given, want := map[string]batch.MessageAttribute{}, maps.Collect(maps.All(c.attributes))
		for name, value := range c.attributes {
			given[name] = batch.MessageAttribute{DataType: "String", StringValue: value}
		}
		if c.coding != "" {
			want[cmp.Or(c.cfg.Attribute, encoded.Attribute)] = c.coding
		}
		m := sender.Message{Body: c.body, Attributes: given}
		if err := c.cfg.Prepare(t.Context(), &m); (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if compressed := len(m.Body) < len(c.body)/10; compressed != (c.coding == "gzip") || !compressed && m.Body != c.body || len(given) != len(c.attributes) {
			t.Errorf("%s: %d bytes of %d: %.40q; the attributes given are %v", name, len(m.Body), len(c.body), m.Body, given)
		}
		for name, value := range want {
			if a := m.Attributes[name]; len(m.Attributes) != len(want) || a.StringValue != value || a.DataType != "String" {
				t.Errorf("%s: attributes %v, want %v", name, m.Attributes, want)
			}
		}
		if c.coding != "" {
			r := batch.Record{Body: m.Body, MessageAttributes: m.Attributes}
			if got, _, err := handle(t, c.cfg, r); err != nil || got.Body != c.body {
				t.Errorf("%s: it arrives as %.40q, %v", name, got.Body, err)
			}
		}
	}
}
