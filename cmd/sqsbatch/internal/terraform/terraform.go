// Package terraform reads the JSON that `terraform show -json` and `tofu show -json` print of a
// plan or a state, as a template of CloudFormation, so that the rules have one kind of input.
//
//	source, err := terraform.Read(data)
//	if err != nil {
//		return err
//	}
//	result, err := apply(source.Template)
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

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A Source is a plan or a state as a template.
type Source struct {
	Template *template.Template
	places   []place // of the template's lines
}

type place struct{ address, attribute string }

// Read reads a plan or a state. The error says why it cannot be read.
func Read(data []byte) (*Source, error) {
	p, err := decode(data)
	if err != nil {
		return nil, err
	}
	c := &conversion{plan: p, out: map[string]*made{}}
	c.index()
	for _, r := range c.list {
		c.convert(r)
	}
	for _, r := range c.list {
		c.amend(r)
	}
	return c.source()
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

// separator stands in logical ids for the dots of addresses: a dot divides an id from an attribute.
const separator = "·"

func logicalID(address string) string { return strings.ReplaceAll(address, ".", separator) }

var (
	word = regexp.MustCompile(`[A-Za-z0-9_]+`)
	line = regexp.MustCompile(`\bline \d+: `) // of the template
)

// Text returns a text of a finding with addresses in place of logical ids, and Terraform's
// attributes in place of CloudFormation's properties.
func Text(s string) string {
	s = strings.NewReplacer(separator, ".", " the template", " the plan", " this template", " this plan").Replace(line.ReplaceAllString(s, ""))
	return word.ReplaceAllStringFunc(s, func(name string) string {
		return cmp.Or(attributes[name], name)
	})
}

// source writes the template, one value a line, and notes where each line is from.
func (c *conversion) source() (*Source, error) {
	s := &Source{}
	var text strings.Builder
	add := func(at place, format string, args ...any) {
		fmt.Fprintf(&text, format+"\n", args...)
		s.places = append(s.places, at)
	}
	add(place{}, `{"Resources": {`)
	for i, id := range c.order {
		m := c.out[id]
		own := place{address: m.address}
		add(own, "%s: {", quote(id))
		add(own, `"Type": %s, "Properties": {`, quote(m.kind))
		for j, p := range m.properties {
			value, err := json.Marshal(p.value)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", p.name, m.address, err)
			}
			add(p.from, "%s: %s%s", quote(p.name), value, comma(j, len(m.properties)))
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

func quote(s string) string {
	text, _ := json.Marshal(s) // a string never fails
	return string(text)
}
