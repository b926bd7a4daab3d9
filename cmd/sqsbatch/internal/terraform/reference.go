package terraform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// Unknown is the function of a value that is known only after the plan is applied.
const Unknown = template.UnknownFunction

// unknown is a value that is not known for a reason.
func unknown(reason string) map[string]any { return map[string]any{Unknown: reason} }

func isIntrinsic(v map[string]any) bool {
	return len(v) == 1 && (v[Unknown] != nil || v["Ref"] != nil || v["Fn::GetAtt"] != nil)
}

const (
	// maxDepth bounds how many variables and outputs are followed from one value.
	maxDepth = 30
	// maxSteps bounds how many are followed in a plan: each may refer to several others.
	maxSteps = 1_000_000
)

// index lists the resources, and the texts by which others name them.
func (c *conversion) index() {
	c.list, c.known = c.resources(), map[string]any{}
	for _, r := range c.list {
		for attribute, name := range kinds[r.Type].refs {
			text, ok := r.Values[attribute].(string)
			if named := strings.HasPrefix(text, "arn:") || strings.HasPrefix(text, "https:"); ok && named && r.Mode != "data" {
				c.known[text] = reference(r, name)
			}
		}
	}
}

func reference(r resource, attribute string) any {
	if attribute == "" {
		return map[string]any{"Ref": logicalID(r.Address)}
	}
	return map[string]any{"Fn::GetAtt": []any{logicalID(r.Address), attribute}}
}

// number is an index in a path.
func number(i int) string { return strconv.Itoa(i) }

// blocks are the blocks of a name: a list in the JSON, nil if there is none.
func blocks(v any) []any {
	list, _ := v.([]any)
	return list
}

// at goes into a value. A name that meets a list goes into its first block.
func at(v any, path ...string) any {
	for len(path) > 0 {
		switch in := v.(type) {
		case map[string]any:
			v, path = in[path[0]], path[1:]
		case []any:
			i, err := strconv.Atoi(path[0])
			if err == nil {
				path = path[1:]
			}
			if i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// value returns an attribute: nil if there is none, and a function of CloudFormation's for what
// names another resource or is not known.
func (c *conversion) value(r resource, path ...string) any {
	v := at(r.Values, path...)
	if list, ok := v.([]any); ok && len(list) == 0 || v == "" {
		v = nil // as the provider writes what is not set
	}
	if v == nil && c.isUnknown(r, path) {
		expression := c.expression(r, path...)
		if expression == nil && c.Configuration != nil && len(path) == 1 {
			return nil // not set: the provider chooses
		}
		return c.refer(expression, r, strings.Join(path, "."))
	}
	v = c.link(v)
	entries, ok := v.(map[string]any)
	if missing, some := c.unknownAt(r, path).(map[string]any); ok && some && !isIntrinsic(entries) {
		all := map[string]any{}
		maps.Copy(all, entries)
		entries = all
		for name, is := range missing {
			if is == true {
				expression := c.expression(r, append(path, name)...)
				if expression == nil {
					expression = c.expression(r, path...)
				}
				entries[name] = c.refer(expression, r, strings.Join(path, ".")+"."+name)
			}
		}
		return entries
	}
	return v
}

func (c *conversion) unknownAt(r resource, path []string) any {
	return at(c.unknown[r.Address], path...)
}

// isUnknown reports whether an attribute without a value gets one when the plan is applied.
func (c *conversion) isUnknown(r resource, path []string) bool {
	if c.unknown[r.Address] == nil { // a plan without changes: what is set and has no value
		return c.Configuration != nil && c.expression(r, path...) != nil
	}
	for i := range path {
		if c.unknownAt(r, path[:i+1]) == true {
			return true
		}
	}
	return false
}

// link replaces the ARNs, URLs and names of the plan's resources by references to them.
func (c *conversion) link(v any) any {
	switch v := v.(type) {
	case string:
		if known, ok := c.known[v]; ok {
			return known
		}
		if parts := strings.Split(v, ":"); len(parts) > 6 && parts[2] == "lambda" && parts[5] == "function" {
			for _, r := range c.list {
				if r.Type == "aws_lambda_function" && r.Values["function_name"] == parts[6] {
					return reference(r, "Arn") // a version or an alias
				}
			}
		}
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = c.link(list[i])
		}
		return list
	case map[string]any:
		entries := maps.Clone(v)
		for name := range entries {
			entries[name] = c.link(entries[name])
		}
		return entries
	}
	return v
}

// json is an attribute that is a JSON document.
func (c *conversion) json(r resource, path ...string) any {
	switch v := at(r.Values, path...).(type) {
	case string:
		if v != "" {
			return c.parse(v)
		}
	case nil:
	default:
		return c.link(v)
	}
	v := c.value(r, path...)
	if v == nil {
		return nil
	}
	found := c.targets(c.expression(r, path...), r, 0)
	if len(found) == 1 {
		if d := found[0].resource; d.Type == "aws_iam_policy_document" {
			return c.policyDocument(d)
		}
		if text, ok := found[0].constant.(string); ok {
			return c.parse(text)
		}
	}
	return unknown(strings.Join(path, ".") + afterApply)
}

const afterApply = " is known only after the plan is applied"

func (c *conversion) parse(text string) any {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return unknown(fmt.Sprintf("it is not JSON: %v", err))
	}
	return c.link(v)
}

// policyDocument is the document of a data source aws_iam_policy_document.
func (c *conversion) policyDocument(d resource) any {
	if text, ok := d.Values["json"].(string); ok && text != "" {
		return c.parse(text)
	}
	if len(blocks(d.Values["source_policy_documents"])) > 0 || len(blocks(d.Values["override_policy_documents"])) > 0 ||
		c.expression(d, "source_policy_documents") != nil || c.expression(d, "override_policy_documents") != nil {
		return unknown(d.Address + " is made of other documents")
	}
	var statements []any
	for i := range blocks(d.Values["statement"]) {
		get := func(name string) any { return c.texts(d, "statement", number(i), name) }
		s := map[string]any{"Effect": "Allow"}
		for to, v := range map[string]any{
			"Effect": c.value(d, "statement", number(i), "effect"), "Action": get("actions"), "NotAction": get("not_actions"),
			"Resource": get("resources"), "NotResource": get("not_resources"),
			"Principal": c.principals(d, i, "principals"), "NotPrincipal": c.principals(d, i, "not_principals"),
		} {
			if v != nil {
				s[to] = v
			}
		}
		conditions := map[string]any{}
		for j := range blocks(at(d.Values, "statement", number(i), "condition")) {
			test, _ := at(d.Values, "statement", number(i), "condition", number(j), "test").(string)
			variable, _ := at(d.Values, "statement", number(i), "condition", number(j), "variable").(string)
			if conditions[test] == nil {
				conditions[test] = map[string]any{}
			}
			conditions[test].(map[string]any)[variable] = c.texts(d, "statement", number(i), "condition", number(j), "values")
		}
		if len(conditions) > 0 {
			s["Condition"] = conditions
		}
		statements = append(statements, s)
	}
	if statements == nil {
		return unknown(d.Address + afterApply)
	}
	return map[string]any{"Statement": statements}
}

// texts is a list of texts, some of which may not be known.
func (c *conversion) texts(r resource, path ...string) any {
	list, _ := at(r.Values, path...).([]any)
	if len(list) == 0 {
		return c.value(r, path...)
	}
	missing := 0
	for _, v := range list {
		if v == nil {
			missing++
		}
	}
	found := c.targets(c.expression(r, path...), r, 0)
	all, _ := c.link(list).([]any)
	for i, v := range all {
		switch {
		case v != nil:
		case len(found) == missing:
			all[i], found, missing = c.target(found[0], path[len(path)-1]), found[1:], missing-1
		default:
			all[i] = unknown(path[len(path)-1] + afterApply)
		}
	}
	return all
}

func (c *conversion) principals(d resource, statement int, name string) any {
	who := map[string]any{}
	for i := range blocks(at(d.Values, "statement", number(statement), name)) {
		kind, _ := at(d.Values, "statement", number(statement), name, number(i), "type").(string)
		list := c.texts(d, "statement", number(statement), name, number(i), "identifiers")
		if kind == "*" {
			return "*"
		}
		who[kind] = list
	}
	if len(who) == 0 {
		return nil
	}
	return who
}

// expression returns what the configuration gives an attribute, nil if that is not known.
func (c *conversion) expression(r resource, path ...string) any {
	if c.Configuration == nil {
		return nil
	}
	m, ok := c.configOf(r.module)
	if !ok {
		return nil
	}
	own := r.Type + "." + r.Name
	if r.Mode == "data" {
		own = "data." + own
	}
	for _, e := range m.Resources {
		if e.Address == own {
			return at(e.Expressions, path...)
		}
	}
	return nil
}

// configOf returns the configuration of the module of an address: module.a.module.b.
func (c *conversion) configOf(address []step) (m configModule, ok bool) {
	m = c.Configuration.Root
	for i := 1; i < len(address); i += 2 {
		call, ok := m.Calls[address[i].name]
		if !ok {
			return m, false
		}
		m = call.Module
	}
	return m, true
}

// A target is what an expression refers to: an attribute of a resource, or a constant.
type target struct {
	resource  resource
	attribute string
	constant  any
	unclear   bool // a local value, an index or what cannot be followed
}

// targets follows the references of an expression through variables and outputs.
func (c *conversion) targets(expression any, from resource, depth int) (list []target) {
	e, ok := expression.(map[string]any)
	if c.steps++; !ok || depth > maxDepth || c.steps > maxSteps {
		return nil
	}
	if constant, ok := e["constant_value"]; ok {
		return []target{{constant: constant}}
	}
	refs, _ := e["references"].([]any)
	for _, ref := range whole(refs) {
		for _, t := range c.follow(ref, from, depth) {
			if !slices.ContainsFunc(list, func(o target) bool {
				return o.constant == nil && t.constant == nil && o.resource.Address == t.resource.Address && o.attribute == t.attribute
			}) {
				list = append(list, t)
			}
		}
	}
	return list
}

// whole leaves out references that others begin with: a.b.arn is followed by a.b.
func whole(refs []any) (list []string) {
	for _, ref := range refs {
		text, _ := ref.(string)
		if text != "" && !slices.ContainsFunc(refs, func(other any) bool {
			o, _ := other.(string)
			return len(o) > len(text) && strings.HasPrefix(o, text) && (o[len(text)] == '.' || o[len(text)] == '[')
		}) {
			list = append(list, text)
		}
	}
	return list
}

func (c *conversion) follow(ref string, from resource, depth int) []target {
	parts := steps(ref)
	unclear := []target{{unclear: true, attribute: ref}}
	switch parts[0].name {
	case "each", "count", "path", "terraform", "self":
		return nil // an index, or a text
	case "local":
		return unclear
	case "var":
		if len(parts) < 2 {
			return unclear
		}
		return c.variable(parts[1].name, from, depth)
	case "module":
		if len(parts) < 3 {
			return unclear
		}
		inner := append(slices.Clone(from.module), parts[0], step{parts[1].name, c.calledKey(parts[1].key, from, append(slices.Clone(from.module), parts[0], parts[1]))})
		m, ok := c.configOf(inner)
		output, has := m.Outputs[parts[2].name]
		if !ok || !has {
			return unclear
		}
		return c.targets(output.Expression, resource{module: inner, Index: from.Index}, depth+1)
	}
	mode := "managed"
	if parts[0].name == "data" {
		mode, parts = "data", parts[1:]
	}
	if len(parts) < 2 {
		return unclear
	}
	attribute := ""
	if len(parts) > 2 {
		attribute = parts[2].name
	}
	r, ok := c.instance(mode, parts[0].name, parts[1], from)
	if !ok {
		return unclear
	}
	return []target{{resource: r, attribute: attribute}}
}

// variable follows a variable of from's module to what its caller gives it.
func (c *conversion) variable(name string, from resource, depth int) []target {
	unclear := []target{{unclear: true, attribute: "var." + name}}
	if len(from.module) < 2 {
		if v, ok := c.Variables[name]; ok {
			return []target{{constant: v.Value}}
		}
		return unclear
	}
	outer := from.module[:len(from.module)-2]
	m, ok := c.configOf(outer)
	if !ok {
		return unclear
	}
	called := from.module[len(from.module)-1]
	call := m.Calls[called.name]
	expression, given := call.Expressions[name]
	if !given {
		if v, ok := call.Module.Variables[name]; ok {
			return []target{{constant: v.Default}}
		}
		return unclear
	}
	var index any // of the call, which each.key in it stands for
	if called.key != "" {
		_ = json.Unmarshal([]byte(called.key), &index)
	}
	return c.targets(expression, resource{module: outer, Index: index}, depth+1)
}

// calledKey is the key of a module that is called: the one that is written, else that of the only
// instance, else that of the resource that refers to it.
func (c *conversion) calledKey(written string, from resource, call []step) string {
	if written != "" {
		return written
	}
	keys := map[string]bool{}
	for _, r := range c.list {
		if len(r.module) >= len(call) && slices.Equal(r.module[:len(call)-1], call[:len(call)-1]) && r.module[len(call)-1].name == call[len(call)-1].name {
			keys[r.module[len(call)-1].key] = true
		}
	}
	if len(keys) == 1 {
		for key := range keys {
			return key
		}
	}
	return indexOf(from.Index)
}

// indexOf is an index as it is written in an address, "" without one.
func indexOf(index any) string {
	if index == nil {
		return ""
	}
	text, _ := json.Marshal(index) // of JSON itself
	return string(text)
}

// instance finds the resource that a reference in from's module means: the only one of the name,
// or the one of the key that is written or that from has.
func (c *conversion) instance(mode, kind string, name step, from resource) (resource, bool) {
	var all []resource
	for _, r := range c.list {
		if r.Mode == mode && r.Type == kind && r.Name == name.name && slices.Equal(r.module, from.module) {
			all = append(all, r)
		}
	}
	for _, key := range []string{name.key, indexOf(from.Index)} {
		for _, r := range all {
			if key != "" && indexOf(r.Index) == key {
				return r, true
			}
		}
	}
	if len(all) == 1 {
		return all[0], true
	}
	return resource{}, false
}

// refer is the value of an expression that is known only after the plan is applied: a reference
// if it can only be one.
func (c *conversion) refer(expression any, r resource, name string) any {
	found := c.targets(expression, r, 0)
	if len(found) == 1 {
		return c.target(found[0], name)
	}
	return unknown(name + afterApply)
}

func (c *conversion) target(t target, name string) any {
	if attribute, ok := kinds[t.resource.Type].refs[t.attribute]; ok {
		return reference(t.resource, attribute)
	}
	if t.constant != nil {
		return c.link(t.constant)
	}
	return unknown(name + afterApply)
}
