package terraform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
)

// fn and unknown are short: values are full of them.
type fn = source.Func

var unknown = source.Unknown

const (
	// maxDepth bounds how many variables and outputs are followed from one value.
	maxDepth = 30
	// maxSteps bounds how many are followed in a plan: each may refer to several others.
	maxSteps = 100_000
	// maxRefs bounds the references of an expression.
	maxRefs = 100
)

// takes are the attributes whose value is that of another resource, when it is not known yet: which
// attribute of it. Any other value may have more in it than the reference, or be secret.
var takes = map[string]string{
	"event_source_arn": "arn", "function_name": "arn", "role": "", "roles": "name", "queue_url": "id", "topic_arn": "arn",
	"endpoint": "arn", "arn": "arn", "source": "arn", "policy_arn": "arn", "target_arn": "arn", "kms_master_key_id": "arn",
	"target_key_id": "key_id", "key_id": "key_id", "queue_arn": "arn", "resources": "arn", "identifiers": "arn",
	"destination": "arn", "destination_arn": "arn", "task_definition": "arn", "task_role_arn": "arn", "bucket": "id", "rule": "name",
}

// An instanceKey names the instances of a resource in an instance of a module.
type instanceKey struct{ mode, kind, name, module string }

var unsafe = regexp.MustCompile(`[^A-Za-z0-9]`)

// index lists the resources, and what names them.
func (c *conversion) index() {
	c.list, c.known = c.resources(), map[string]any{}
	c.ids, c.named, c.keys = map[string]string{}, map[instanceKey][]int{}, map[string][]string{}
	c.configs = map[string]map[string]any{}
	c.count, c.byName = map[[2]string]int{}, map[[2]string]*source.Resource{}
	for i, r := range c.list {
		// A queue without a known name has the id as its name, so that must be a good one.
		c.ids[r.Address] = fmt.Sprintf("T%d_%.40s", i, unsafe.ReplaceAllString(r.Name, "_"))
		key := instanceKey{r.Mode, r.Type, r.Name, address(r.module)}
		c.named[key] = append(c.named[key], i)
		for n := 2; n <= len(r.module); n += 2 {
			call := append(slices.Clone(r.module[:n-1]), step{name: r.module[n-1].name})
			if at := address(call); !slices.Contains(c.keys[at], r.module[n-1].key) {
				c.keys[at] = append(c.keys[at], r.module[n-1].key)
			}
		}
		if r.Mode == "data" {
			continue
		}
		if name, ok := r.Values[nameOf(r.Type)].(string); ok && kinds[r.Type].refs != nil {
			c.count[[2]string{r.Type, name}]++
		}
		for attribute, name := range kinds[r.Type].refs {
			text, ok := r.Values[attribute].(string)
			if ok && (strings.HasPrefix(text, "arn:") || strings.HasPrefix(text, "https:") || r.Type == "aws_kms_key" && len(text) > 30) {
				c.known[text] = c.reference(r, name)
			}
		}
	}
	c.setParts()
}

// address writes steps as an address.
func address(list []step) string {
	var out strings.Builder
	for _, s := range list {
		out.WriteString("." + s.name)
		if s.key != "" {
			out.WriteString("[" + s.key + "]")
		}
	}
	return out.String()
}

// reference is an attribute of CloudFormation's of a resource of the plan, "" for its Ref.
func (c *conversion) reference(r resource, attribute string) fn {
	return source.GetAtt(c.ids[r.Address], attribute)
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

// value returns an attribute: nil if there is none, and an fn for what names another resource or is
// not known.
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
		return c.refer(expression, r, path)
	}
	last := path[len(path)-1]
	if name, ok := v.(string); ok && (last == "role" && c.count[[2]string{"aws_iam_role", name}] > 1 || last == "function_name" && r.Type != "aws_lambda_function" && c.count[[2]string{"aws_lambda_function", name}] > 1) {
		return unknown("there are several of the name " + name)
	}
	missing, ok := c.unknownAt(r, path).(map[string]any)
	v = c.link(v)
	if entries, has := v.(map[string]any); ok && (has || v == nil) {
		all := map[string]any{}
		maps.Copy(all, entries)
		for name, is := range missing {
			if is == true {
				all[name] = unknown(strings.Join(path, ".") + "." + name + afterApply)
			}
		}
		return all
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

// link replaces the ARNs, URLs and ids of the plan's resources by references to them.
func (c *conversion) link(v any) any {
	switch v := v.(type) {
	case string:
		if known, ok := c.known[v]; ok {
			return known
		}
		parts := strings.SplitN(v, ":", 8)
		switch {
		case len(parts) == 8 && parts[2] == "lambda": // a version or an alias
			if known, ok := c.known[strings.Join(parts[:7], ":")]; ok {
				return known
			}
		case len(parts) == 6 && parts[2] == "sqs" && (parts[3] != c.options.Region || parts[4] != c.options.AccountID):
			// The template's queues are in one region and account, so one of that name would be taken for it.
			if c.count[[2]string{"aws_sqs_queue", parts[5]}] > 0 {
				return unknown(v + " is in another region or account")
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
	expression := c.expression(r, path...)
	if !c.isUnknown(r, path) || expression == nil && c.Configuration != nil && len(path) == 1 {
		return nil
	}
	if found := c.targets(expression, r, 0); len(found) == 1 {
		switch t := found[0]; {
		case t.resource != nil && t.resource.Type == "aws_iam_policy_document":
			return c.policyDocument(*t.resource)
		case t.resource == nil && !t.unclear && (t.constant == nil || t.constant == ""):
			return nil // a variable that is not set
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
			with := conditions[test].(map[string]any)
			with[variable] = both(with[variable], c.texts(d, "statement", number(i), "condition", number(j), "values"))
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

// texts is a list of texts, some of which may not be known. A list of one is that one, as the
// provider writes it.
func (c *conversion) texts(r resource, path ...string) any {
	list, _ := at(r.Values, path...).([]any)
	if len(list) == 0 {
		return c.value(r, path...)
	}
	name, missing := path[len(path)-1], 0
	for _, v := range list {
		if v == nil {
			missing++
		}
	}
	var found []target
	for _, t := range c.targets(c.expression(r, path...), r, 0) {
		if t.resource != nil || t.unclear {
			found = append(found, t)
		}
	}
	all, _ := c.link(list).([]any)
	for i, v := range all {
		if v != nil {
			continue
		}
		all[i] = unknown(name + afterApply)
		if len(found) == missing {
			if name != "values" || found[0].attribute == "arn" { // else a text around a name is likely
				all[i] = c.target(found[0], name)
			}
			found, missing = found[1:], missing-1
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// both joins what two blocks say of the same.
func both(a, b any) any {
	if a == nil {
		return b
	}
	var all []any
	for _, v := range []any{a, b} {
		if list, ok := v.([]any); ok {
			all = append(all, list...)
		} else {
			all = append(all, v)
		}
	}
	return all
}

func (c *conversion) principals(d resource, statement int, name string) any {
	who := map[string]any{}
	for i := range blocks(at(d.Values, "statement", number(statement), name)) {
		kind, _ := at(d.Values, "statement", number(statement), name, number(i), "type").(string)
		if kind == "*" {
			return "*"
		}
		who[kind] = both(who[kind], c.texts(d, "statement", number(statement), name, number(i), "identifiers"))
	}
	if len(who) == 0 {
		return nil
	}
	return who
}

// sets are blocks whose order in the configuration is not that of the values, with the attribute
// that tells them apart.
var sets = map[string]string{
	"principals": "type", "not_principals": "type", "condition": "variable", "filter": "pattern", "inline_policy": "name", "metric_query": "id", "queue": "id",
}

// expression returns what the configuration gives an attribute, nil if that is not known: the JSON of
// the configuration leaves dynamic blocks out.
func (c *conversion) expression(r resource, path ...string) any {
	e := c.configured(r)
	v := any(r.Values)
	in := "" // the name of the blocks that e is a list of
	for len(path) > 0 {
		switch list := e.(type) {
		case map[string]any:
			in, path = path[0], path[1:]
			e, v = list[in], at(v, in)
		case []any:
			i, err := strconv.Atoi(path[0])
			if err == nil {
				path = path[1:]
			}
			have := blocks(v)
			if len(have) != len(list) || i < 0 || i >= len(list) {
				return nil
			}
			v = have[i]
			if attribute, set := sets[in]; set && len(list) > 1 {
				name, _ := at(v, attribute).(string)
				same := func(block any) bool { return at(block, attribute, "constant_value") == any(name) }
				if i = slices.IndexFunc(list, same); i < 0 || slices.ContainsFunc(list[i+1:], same) {
					return nil
				}
			}
			e = list[i]
		default:
			return nil
		}
	}
	return e
}

// configured is all that the configuration says of a resource.
func (c *conversion) configured(r resource) any {
	if c.Configuration == nil {
		return nil
	}
	var module strings.Builder // without keys: its instances have one configuration
	for _, s := range r.module {
		module.WriteString(s.name + ".")
	}
	list, known := c.configs[module.String()]
	if !known {
		if m, ok := c.configOf(r.module); ok {
			list = map[string]any{}
			for _, e := range m.Resources {
				list[e.Address] = e.Expressions
			}
		}
		c.configs[module.String()] = list
	}
	own := r.Type + "." + r.Name
	if r.Mode == "data" {
		own = "data." + own
	}
	return list[own]
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

// A target is what an expression refers to: a resource with an attribute, which may be "", or a
// constant.
type target struct {
	resource  *resource
	attribute string
	constant  any
	unclear   bool // a local value, or what cannot be followed
}

// targets follows the references of an expression through variables and outputs.
func (c *conversion) targets(expression any, from resource, depth int) (list []target) {
	e, ok := expression.(map[string]any)
	if c.steps++; !ok || depth > maxDepth || c.steps > maxSteps {
		return []target{{unclear: true}}
	}
	if constant, ok := e["constant_value"]; ok {
		return []target{{constant: constant}}
	}
	refs, _ := e["references"].([]any)
	names := whole(refs)
	key := slices.Contains(names, "each.key") || slices.Contains(names, "count.index")
	if !key {
		from.Index = nil // it is not what the resources are chosen by
	}
	for _, ref := range names {
		for _, t := range c.follow(ref, from, depth) {
			if len(list) > maxRefs {
				return []target{{unclear: true}}
			}
			if !slices.ContainsFunc(list, func(o target) bool {
				return t.unclear && o.unclear || t.resource != nil && o.resource != nil && o.resource.Address == t.resource.Address && o.attribute == t.attribute
			}) {
				list = append(list, t)
			}
		}
	}
	return list
}

// whole leaves out references that others begin with: a.b.arn is followed by a.b.
func whole(refs []any) (list []string) {
	begun := map[string]bool{} // what a longer one begins with
	for _, ref := range refs[:min(len(refs), maxRefs)] {
		text, _ := ref.(string)
		for i, r := range text {
			if r == '.' || r == '[' {
				begun[text[:i]] = true
			}
		}
	}
	for _, ref := range refs[:min(len(refs), maxRefs)] {
		if text, ok := ref.(string); ok && text != "" && !begun[text] {
			list = append(list, text)
		}
	}
	return list
}

func (c *conversion) follow(ref string, from resource, depth int) []target {
	parts := steps(ref)
	unclear := []target{{unclear: true, attribute: ref}}
	if len(parts) == 0 {
		return nil
	}
	switch parts[0].name {
	case "count", "path", "terraform":
		return nil // an index, or a text
	case "each":
		if ref == "each.key" {
			return nil
		}
		return unclear
	case "local", "self":
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
		inner := append(slices.Clone(from.module), parts[0], step{name: parts[1].name})
		inner[len(inner)-1].key = c.calledKey(parts[1].key, from, inner)
		m, ok := c.configOf(inner)
		output, has := m.Outputs[parts[2].name]
		if !ok || !has {
			return unclear
		}
		list := c.targets(output.Expression, resource{module: inner}, depth+1)
		for i := range list {
			if list[i].attribute == "" && len(parts) > 3 && !list[i].unclear {
				list[i].attribute = parts[3].name // of a whole resource
			}
		}
		return list
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
	r := c.instance(instanceKey{mode, parts[0].name, parts[1].name, address(from.module)}, parts[1].key, from)
	if r == nil {
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
	if keys := c.keys[address(call)]; len(keys) == 1 {
		return keys[0]
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

// instance finds the resource that a reference in from's module means: the only one of the name, or
// the one of the key that is written or that from has.
func (c *conversion) instance(key instanceKey, written string, from resource) *resource {
	all := c.named[key]
	for _, index := range []string{written, indexOf(from.Index)} {
		for _, i := range all {
			if index != "" && indexOf(c.list[i].Index) == index {
				return &c.list[i]
			}
		}
	}
	if len(all) == 1 && (written == "" || c.list[all[0]].Index == nil) {
		return &c.list[all[0]]
	}
	return nil
}

// refer is the value of an expression that is known only after the plan is applied: a reference if it
// can only be one.
func (c *conversion) refer(expression any, r resource, path []string) any {
	name := path[len(path)-1]
	var found []target
	for _, t := range c.targets(expression, r, 0) {
		if t.resource != nil || t.unclear {
			found = append(found, t) // a constant is a condition, or what stands for no resource
		}
	}
	if _, ok := takes[name]; !ok || len(found) != 1 {
		return unknown(strings.Join(path, ".") + afterApply)
	}
	if name == "role" && found[0].attribute == "" && r.Type == "aws_lambda_function" {
		found[0].attribute = "arn"
	}
	return c.target(found[0], name)
}

// target is a reference to what an attribute of a name takes.
func (c *conversion) target(t target, name string) any {
	if t.resource == nil {
		return unknown(name + afterApply)
	}
	if t.attribute == "" {
		t.attribute = cmp.Or(takes[name], "name")
	}
	if attribute, ok := kinds[t.resource.Type].refs[t.attribute]; ok && t.resource.Mode != "data" {
		return c.reference(*t.resource, attribute)
	}
	if name == "event_source_arn" && t.resource.Mode != "data" {
		return "arn:aws:" + t.resource.Type // a stream, which is no queue
	}
	return unknown(name + afterApply)
}
