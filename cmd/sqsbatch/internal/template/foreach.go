package template

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// forEach begins the names of loops ("Fn::ForEach", of the transform AWS::LanguageExtensions).
const forEach = "Fn::ForEach::"

// Bounds on loops: CloudFormation takes 500 resources.
const (
	maxLooped = 2000
	maxCopied = 200_000 // nodes
)

// A loop expands Fn::ForEach in Resources.
type loop struct {
	st                *Stack
	resources, copied int
}

// expand returns the entries that a loop makes, those of loops in it included.
func (l *loop) expand(n *yaml.Node, depth int) (out []*yaml.Node) {
	args := l.st.args(n, n, 3, 3, "Fn::ForEach::Name: [identifier, [value, …], {name: resource}]")
	identifier, body := l.st.str(args[0]), args[2]
	if identifier == "" || body.Kind != yaml.MappingNode || depth > maxForEach {
		l.st.fail(n, "the loop must have an identifier and a mapping of resources, with at most %d levels of loops", maxForEach)
	}
	for _, value := range l.st.strs(args[1]) {
		for i := 0; i+1 < len(body.Content); i += 2 {
			key, node := l.put(body.Content[i], identifier, value, 0), l.put(body.Content[i+1], identifier, value, 0)
			if strings.HasPrefix(key.Value, forEach) {
				out = append(out, l.expand(node, depth+1)...)
				continue
			}
			if l.resources++; l.resources > maxLooped {
				l.st.fail(n, "the loops make more than %d resources", maxLooped)
			}
			out = append(out, key, node)
		}
	}
	return out
}

// maxForEach bounds loops in loops; CloudFormation takes five.
const maxForEach = 5

var notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]`)

// put copies a node with a value in place of ${identifier}, &{identifier} and Ref of it.
func (l *loop) put(n *yaml.Node, identifier, value string, depth int) *yaml.Node {
	for n.Kind == yaml.AliasNode && depth < maxDepth {
		n, depth = n.Alias, depth+1
	}
	if l.copied++; l.copied > maxCopied || depth > maxDepth {
		l.st.fail(n, "the loops make too large a template")
	}
	out := *n
	if name, arg := intrinsic(n); name == "Ref" && arg.Kind == yaml.ScalarNode && arg.Value == identifier {
		l.st.made[&out] = true
		out = *text(n, value)
		return &out
	}
	if n.Kind == yaml.ScalarNode {
		out.Value = strings.NewReplacer("${"+identifier+"}", value, "&{"+identifier+"}", notAlphanumeric.ReplaceAllString(value, "")).Replace(n.Value)
		l.st.made[&out] = out.Value != n.Value
		return &out
	}
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = l.put(c, identifier, value, depth+1)
	}
	return &out
}
