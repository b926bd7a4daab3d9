// Package source writes a template of CloudFormation from resources that were read elsewhere, so
// that the rules have one kind of input: from a plan of Terraform, or from an AWS account.
//
//	queue := &source.Resource{ID: "Q0", Name: "orders", Address: "orders", Type: template.SQSQueue}
//	queue.Set("VisibilityTimeout", 180, "VisibilityTimeout")
//	s, err := source.Write(template.Options{}, []*source.Resource{queue})
//	if err != nil {
//		return err
//	}
//	stack, err := s.Template.Stack(s.Options)
//	result, err := rules.Check(stack)
//	place := s.Place(result.Findings[0].Pos)
package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A Func is a function of CloudFormation's in a value. Other mappings are none, whatever their
// names are.
type Func map[string]any

// Unknown is a value that is not known for a reason.
func Unknown(reason string) Func { return Func{template.UnknownFunction: reason} }

// GetAtt is an attribute of a resource of the template, by its logical id; "" for its Ref.
func GetAtt(id, attribute string) Func {
	if attribute == "" {
		return Func{"Ref": id}
	}
	return Func{"Fn::GetAtt": []any{id, attribute}}
}

// A Resource is one of the template.
type Resource struct {
	ID   string // its logical id: letters, digits and _
	Name string // what texts call it
	// Address is what places call it. Several resources may be parts of one.
	Address string
	Type    string
	// Deep gives the values in a property places of their own: RedrivePolicy.maxReceiveCount.
	Deep bool
	// Context says that the resource is there for the others: what is found in it is not asked for.
	Context    bool
	properties []property
}

type property struct {
	name  string
	value any
	from  Place
	items []property // of a list that is appended to, in place of value
}

// A Place is an attribute of a resource, "" for the resource as a whole.
type Place struct{ Address, Attribute string }

// Set sets a property from an attribute of the resource itself. A nil value changes nothing.
func (r *Resource) Set(name string, value any, attribute string) {
	r.SetFrom(Place{r.Address, attribute}, name, value)
}

// SetFrom is Set from another place.
func (r *Resource) SetFrom(from Place, name string, value any) {
	if value == nil {
		return
	}
	if i := r.index(name); i >= 0 {
		r.properties[i].value, r.properties[i].from = value, from
		return
	}
	r.properties = append(r.properties, property{name: name, value: value, from: from})
}

// Append adds to a list.
func (r *Resource) Append(name string, value any, attribute string) {
	r.AppendFrom(Place{r.Address, attribute}, name, value)
}

// AppendFrom is Append from another place.
func (r *Resource) AppendFrom(from Place, name string, value any) {
	i := r.index(name)
	if i < 0 {
		i = len(r.properties)
		r.properties = append(r.properties, property{name: name, from: from})
	}
	r.properties[i].items = append(r.properties[i].items, property{value: value, from: from})
}

// Delete takes a property away if it has the value.
func (r *Resource) Delete(name string, value any) {
	r.properties = slices.DeleteFunc(r.properties, func(p property) bool { return p.name == name && p.value == value })
}

func (r *Resource) index(name string) int {
	return slices.IndexFunc(r.properties, func(p property) bool { return p.name == name })
}

// A Source is a template that was written.
type Source struct {
	Template *template.Template
	Options  template.Options
	// Words are other names for words in texts: Terraform's of properties.
	Words map[string]string
	// Phrases replaces what texts say of templates.
	Phrases *strings.Replacer
	// Setting says how to give a property at a place a value, or how to remove it if that is nil.
	Setting func(at Place, property string, value any) string

	places    []Place // of the template's lines
	resources map[string]*Resource
}

// Write writes a template, one value a line, and notes where each line is from.
func Write(o template.Options, resources []*Resource) (*Source, error) {
	s := &Source{Options: o, resources: map[string]*Resource{}}
	var text strings.Builder
	add := func(at Place, format string, args ...any) {
		fmt.Fprintf(&text, format+"\n", args...)
		s.places = append(s.places, at)
	}
	add(Place{}, `{"Resources": {`)
	for i, r := range resources {
		s.resources[r.ID] = r
		own := Place{Address: r.Address}
		add(own, "%s: {", quote(r.ID))
		add(own, `"Type": %s, "Properties": {`, quote(r.Type))
		for j, p := range r.properties {
			if p.items != nil {
				add(p.from, "%s: [", quote(p.name))
				for k, item := range p.items {
					add(item.from, "%s%s", quote(clean(item.value)), comma(k, len(p.items)))
				}
				add(p.from, "]%s", comma(j, len(r.properties)))
				continue
			}
			value := clean(p.value)
			entries, ok := value.(map[string]any)
			if !ok || !r.Deep {
				add(p.from, "%s: %s%s", quote(p.name), quote(value), comma(j, len(r.properties)))
				continue
			}
			add(p.from, "%s: {", quote(p.name))
			for k, name := range slices.Sorted(maps.Keys(entries)) {
				add(Place{p.from.Address, p.from.Attribute + "." + name}, "%s: %s%s", quote(name), quote(entries[name]), comma(k, len(entries)))
			}
			add(p.from, "}%s", comma(j, len(r.properties)))
		}
		add(own, "}}%s", comma(i, len(resources)))
	}
	add(Place{}, "}}")
	var err error
	s.Template, err = template.Parse([]byte(text.String()))
	return s, err
}

// Place returns where a place of the template is from.
func (s *Source) Place(at template.Pos) Place {
	if at.Line < 1 || at.Line > len(s.places) {
		return Place{}
	}
	return s.places[at.Line-1]
}

// IsContext reports whether the resource of a logical id is there for the others only.
func (s *Source) IsContext(id string) bool { return s.resources[id] != nil && s.resources[id].Context }

var (
	word = regexp.MustCompile(`[A-Za-z0-9_]+`)
	line = regexp.MustCompile(`\bline \d+: | \(line \d+\)`) // of the template
)

// Text returns a text of a finding without what only the template has: lines and logical ids.
func (s *Source) Text(text string) string {
	text = line.ReplaceAllString(text, "")
	if s.Phrases != nil {
		text = s.Phrases.Replace(text)
	}
	return word.ReplaceAllStringFunc(text, func(name string) string {
		if r := s.resources[name]; r != nil {
			return r.Name
		}
		return cmp.Or(s.Words[name], name)
	})
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

// maxKey bounds the keys of mappings. YAML takes 1,024 bytes.
const maxKey = 500

// clean replaces mappings that CloudFormation would take for functions.
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
				return Unknown("a template cannot have its names")
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
