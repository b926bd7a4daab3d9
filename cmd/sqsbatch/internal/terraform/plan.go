package terraform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// A plan is what the rules need of the JSON form of a plan or a state. Terraform's page "JSON
// Output Format" describes it, and OpenTofu's is the same.
type plan struct {
	StateVersion   json.Number                    `json:"version"` // of a state file
	StateResources []stateResource                `json:"resources"`
	FormatVersion  string                         `json:"format_version"`
	PlannedValues  *values                        `json:"planned_values"` // of a plan
	Values         *values                        `json:"values"`         // of a state
	PriorState     *prior                         `json:"prior_state"`    // of a plan, with the data sources that were read
	Changes        []change                       `json:"resource_changes"`
	Configuration  *config                        `json:"configuration"` // of a plan
	Variables      map[string]struct{ Value any } `json:"variables"`
	unknown        map[string]map[string]any      // of a resource by its address: true, or a list or mapping of it
}

type (
	values struct {
		Root module `json:"root_module"`
	}
	prior struct {
		Values *values `json:"values"`
	}
	module struct {
		Address   string     `json:"address"`
		Resources []resource `json:"resources"`
		Children  []module   `json:"child_modules"`
	}
	resource struct {
		Address string         `json:"address"`
		Mode    string         `json:"mode"`
		Type    string         `json:"type"`
		Name    string         `json:"name"`
		Index   any            `json:"index"`
		Values  map[string]any `json:"values"`
		module  []step
	}
	stateResource struct {
		Module    string `json:"module"`
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Instances []struct {
			Index      any            `json:"index_key"`
			Attributes map[string]any `json:"attributes"`
			Deposed    string         `json:"deposed"` // it is replaced, and still to be destroyed
		} `json:"instances"`
	}
	change struct {
		Address string `json:"address"`
		Type    string `json:"type"`
		Deposed string `json:"deposed"`
		Change  struct {
			Actions      []string       `json:"actions"`
			Before       map[string]any `json:"before"`
			AfterUnknown any            `json:"after_unknown"`
		} `json:"change"`
	}
	config struct {
		Root configModule `json:"root_module"`
	}
	configModule struct {
		Resources []configResource      `json:"resources"`
		Calls     map[string]configCall `json:"module_calls"`
		Outputs   map[string]struct {
			Expression any `json:"expression"`
		} `json:"outputs"`
		Variables map[string]struct {
			Default any `json:"default"`
		} `json:"variables"`
	}
	configCall struct {
		Expressions map[string]any `json:"expressions"`
		Module      configModule   `json:"module"`
	}
	configResource struct {
		Address     string         `json:"address"`
		Expressions map[string]any `json:"expressions"`
	}
)

// IsPlan reports whether a text looks like a plan or a state in JSON, not like a template. It reads
// no further than the version, which Terraform writes near the beginning.
func IsPlan(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(trim(data)))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return false
		}
		if (name == "format_version" || name == "terraform_version") && string(value) != "null" {
			return true
		}
	}
	return false
}

// trim takes away a byte order mark, and decodes UTF-16: PowerShell's > writes it.
func trim(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		var units []uint16
		for i := 2; i+1 < len(data); i += 2 {
			units = append(units, uint16(data[i])|uint16(data[i+1])<<8)
		}
		return []byte(string(utf16.Decode(units)))
	}
	return data
}

// decode reads a plan or a state.
func decode(data []byte) (*plan, error) {
	p := &plan{}
	d := json.NewDecoder(bytes.NewReader(trim(data)))
	d.UseNumber()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("the JSON of Terraform cannot be read: %w", err)
	}
	if p.StateVersion == "4" {
		p.Values = p.stateFile()
		return p, nil
	}
	major, _, _ := strings.Cut(p.FormatVersion, ".")
	switch {
	case p.FormatVersion == "":
		return nil, fmt.Errorf("it has no format_version. Write it with `terraform show -json`, of Terraform 0.12 or later")
	case major != "0" && major != "1":
		return nil, fmt.Errorf("its format_version is %s; versions 0.1 to 1.x can be read", p.FormatVersion)
	case p.PlannedValues == nil && p.Values == nil:
		p.Values = &values{} // an empty state
	}
	p.unknown = map[string]map[string]any{}
	for _, c := range p.Changes {
		if c.Deposed == "" { // else the entry is of an old copy
			p.unknown[c.Address], _ = c.Change.AfterUnknown.(map[string]any)
		}
	}
	return p, nil
}

// stateFile is what a state file (terraform.tfstate) says, in the form of `terraform show -json`.
func (p *plan) stateFile() *values {
	v := &values{}
	for _, r := range p.StateResources {
		m := module{Address: r.Module}
		for _, i := range r.Instances {
			if i.Deposed != "" {
				continue
			}
			address := r.Type + "." + r.Name
			if r.Mode == "data" {
				address = "data." + address
			}
			if r.Module != "" {
				address = r.Module + "." + address
			}
			if key := indexOf(i.Index); key != "" {
				address += "[" + key + "]"
			}
			m.Resources = append(m.Resources, resource{Address: address, Mode: r.Mode, Type: r.Type, Name: r.Name, Index: i.Index, Values: i.Attributes})
		}
		v.Root.Children = append(v.Root.Children, m)
	}
	return v
}

// resources lists what will be there, and of data sources what is known: those that are read
// while the plan is applied are among the planned values, the others in the prior state.
func (p *plan) resources() (list []resource) {
	var add func(m module, mode string)
	add = func(m module, mode string) {
		for _, r := range m.Resources {
			if mode == "" || r.Mode == mode {
				r.module = steps(m.Address)
				list = append(list, r)
			}
		}
		for _, child := range m.Children {
			add(child, mode)
		}
	}
	if p.PlannedValues == nil {
		add(p.Values.Root, "")
		return list
	}
	add(p.PlannedValues.Root, "")
	if p.PriorState != nil && p.PriorState.Values != nil {
		add(p.PriorState.Values.Root, "data")
	}
	return list
}

// A step is a part of an address: module.orders["eu"] has the steps module and orders with a key.
type step struct {
	name string
	key  string // 0 or "eu" as it is written in brackets, "" without brackets
}

// steps splits an address. Keys in brackets may have any character.
func steps(address string) (list []step) {
	for address != "" {
		end := strings.IndexAny(address, ".[")
		if end < 0 {
			return append(list, step{name: address})
		}
		s := step{name: address[:end]}
		rest := address[end:]
		for strings.HasPrefix(rest, "[") {
			n := closing(rest)
			s.key = rest[1:n]
			rest = rest[min(n+1, len(rest)):]
		}
		list = append(list, s)
		address = strings.TrimPrefix(rest, ".")
	}
	return list
}

// closing is the index of the bracket that closes the one that s begins with.
func closing(s string) int {
	quoted := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ']' && !quoted:
			return i
		}
	}
	return len(s)
}
