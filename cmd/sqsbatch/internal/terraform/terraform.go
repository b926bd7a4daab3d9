// Package terraform reads the JSON that `terraform show -json` and `tofu show -json` print of a
// plan or a state, as a template of CloudFormation, so that the rules have one kind of input.
//
//	source, err := terraform.Read(data)
//	if err != nil {
//		return err
//	}
//	stack, err := source.Template.Stack(source.Options)
//	result, err := rules.Check(stack)
//	address, attribute := source.Place(result.Findings[0].Pos)
//
// plan.go has the format, resources.go what becomes of each type of resource, and
// reference.go what a value refers to that is known only after the plan is applied.
package terraform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A Source is a plan or a state as a template.
type Source struct {
	Template *template.Template
	// Options have the region and the account of most queues, if ARNs of queues are known.
	Options   template.Options
	places    []place           // of the template's lines
	addresses map[string]string // by logical id
}

type place struct{ address, attribute string }

// Read reads a plan or a state. The error says why it cannot be read.
func Read(data []byte) (*Source, error) {
	p, err := decode(data)
	if err != nil {
		return nil, err
	}
	c := &conversion{plan: p, out: map[string]*made{}}
	c.options = optionsOf(data)
	c.index()
	for _, r := range c.list {
		c.convert(r)
	}
	for _, r := range c.list {
		c.amend(r)
	}
	return c.source()
}

var queueARN = regexp.MustCompile(`arn:aws[a-z-]*:sqs:([a-z0-9-]+):([0-9]{12}):`)

// optionsOf finds the region and the account that most ARNs of queues have.
func optionsOf(data []byte) (o template.Options) {
	count, most := map[[2]string]int{}, 0
	for _, m := range queueARN.FindAllSubmatch(data, -1) {
		at := [2]string{string(m[1]), string(m[2])}
		if count[at]++; count[at] > most {
			most, o.Region, o.AccountID = count[at], at[0], at[1]
		}
	}
	return o
}

// Place returns the address of the resource at a place of the template and the attribute there,
// "" for the resource as a whole.
func (s *Source) Place(at template.Pos) (address, attribute string) {
	if at.Line < 1 || at.Line > len(s.places) {
		return "", ""
	}
	p := s.places[at.Line-1]
	return p.address, p.attribute
}

var (
	word = regexp.MustCompile(`[A-Za-z0-9_]+`)
	line = regexp.MustCompile(`\bline \d+: | \(line \d+\)`) // of the template
)

// Text returns a text of a finding with addresses in place of logical ids, and Terraform's
// attributes in place of CloudFormation's properties.
func (s *Source) Text(text string) string {
	text = strings.NewReplacer(" the template", " the configuration", " this template", " this configuration").Replace(line.ReplaceAllString(text, ""))
	return word.ReplaceAllStringFunc(text, func(name string) string {
		return cmp.Or(s.addresses[name], attributes[name], name)
	})
}

// source writes the template, one value a line, and notes where each line is from.
func (c *conversion) source() (*Source, error) {
	s := &Source{Options: c.options, addresses: map[string]string{}}
	var text strings.Builder
	add := func(at place, format string, args ...any) {
		fmt.Fprintf(&text, format+"\n", args...)
		s.places = append(s.places, at)
	}
	add(place{}, `{"Resources": {`)
	for i, id := range c.order {
		m := c.out[id]
		s.addresses[id] = m.name
		own := place{address: m.address}
		add(own, "%s: {", quote(id))
		add(own, `"Type": %s, "Properties": {`, quote(m.kind))
		for j, p := range m.properties {
			if p.items == nil {
				add(p.from, "%s: %s%s", quote(p.name), quote(clean(p.value)), comma(j, len(m.properties)))
				continue
			}
			add(p.from, "%s: [", quote(p.name))
			for k, item := range p.items {
				add(item.from, "%s%s", quote(clean(item.value)), comma(k, len(p.items)))
			}
			add(p.from, "]%s", comma(j, len(m.properties)))
		}
		add(own, "}}%s", comma(i, len(c.order)))
	}
	add(place{}, "}}")
	var err error
	s.Template, err = template.Parse([]byte(text.String()))
	return s, err
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

// maxKey bounds the keys of mappings. YAML takes 1,024 bytes.
const maxKey = 500

// clean replaces mappings of the plan that CloudFormation would take for functions.
func clean(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = clean(v[i])
		}
		return list
	case map[string]any:
		entries := make(map[string]any, len(v))
		for name, value := range v {
			if len(v) == 1 && (name == "Ref" || name == "Condition" || strings.HasPrefix(name, "Fn::")) || len(name) > maxKey {
				return unknown("a template cannot have its names")
			}
			entries[name] = clean(value)
		}
		return entries
	}
	return v
}

// quote writes JSON with nothing but ASCII, as a value of YAML: some characters end a line there,
// and some are refused.
func quote(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return `""` // a value of JSON never fails
	}
	var out strings.Builder
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r < 0x7f:
			out.WriteByte(byte(r))
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
		i += size
	}
	return out.String()
}
