// Package template reads a SAM or CloudFormation template and says, in plain
// values, what it deploys for one function with an SQS event: timeout, memory,
// environment, the event source mapping and the queues.
//
//	t, err := template.Read("template.yaml")
//	if err != nil {
//		return err
//	}
//	d, err := t.Resolve(template.Options{Endpoint: "http://127.0.0.1:9324"})
//	if err != nil {
//		return err
//	}
//	fmt.Println(d.Function.Name, d.Function.Timeout, d.Queue.Name)
//
// [Template.Stack] is for other questions: it lists the resources of a type, and
// gives any property's value, or why that is not known, and its place in the file.
//
// Intrinsic functions are evaluated when a value is asked for, never before:
// a template may refer to other stacks, to SSM parameters or to resources that
// exist only in an account, as long as nothing that is needed here depends on
// them. Ref of a queue is its URL below [Options.Endpoint]; Ref of any other
// resource is its logical id, as in SAM's own local commands.
package template

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/internal/yamltext"
)

// Names are the file names that [Find] looks for, in order of preference.
var Names = []string{"template.yaml", "template.yml", "template.json"}

// A Template is a parsed template file. It holds syntax only; [Template.Resolve]
// gives it meaning. A Template is not changed by Resolve.
type Template struct {
	Path string // the file's name as it was given to Read, and "" after Parse

	root   *yaml.Node
	source []byte
	text   func() *yamltext.Text // of source, made when it is asked for
}

// Text is the file with the places of its nodes, for edits of it.
func (t *Template) Text() *yamltext.Text { return t.text() }

// Source is the file's text, which the caller must not change.
func (t *Template) Source() []byte { return t.source }

// ErrNotFound is returned by [Find] when no directory has a template.
var ErrNotFound = errors.New("no template found")

// Find returns the first template file in dirs, or [ErrNotFound].
func Find(dirs ...string) (string, error) {
	for _, dir := range dirs {
		for _, name := range Names {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path, nil
			}
		}
	}
	return "", ErrNotFound
}

// Read reads and parses the template file at path.
func Read(path string) (*Template, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.Path = path
	return t, nil
}

// Parse parses a template, YAML or JSON. The error is that of the YAML parser, or says that the
// document is not a template: one without a mapping named Resources.
func Parse(data []byte) (*Template, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, errors.New("the file is empty")
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("not a SAM or CloudFormation template: its top level is not a mapping")
	}
	if resources := child(root, "Resources"); resources == nil || resources.Kind != yaml.MappingNode {
		return nil, errors.New("not a SAM or CloudFormation template: it has no mapping named Resources")
	}
	text := sync.OnceValue(func() *yamltext.Text { return yamltext.New(root, data) })
	return &Template{root: root, source: data, text: text}, nil
}

// HasParameter reports whether the template declares a parameter.
func (t *Template) HasParameter(name string) bool {
	return child(child(t.root, "Parameters"), name) != nil
}

// child returns the value of key in a mapping ("<<" included), or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	_, value := entry(n, key)
	return value
}

// entry is child with the key's node.
func entry(n *yaml.Node, key string) (name, value *yaml.Node) { return entryDepth(n, key, 0) }

func entryDepth(n *yaml.Node, key string, depth int) (name, value *yaml.Node) {
	for n != nil && n.Kind == yaml.AliasNode && depth < maxDepth {
		n, depth = n.Alias, depth+1
	}
	if n == nil || n.Kind != yaml.MappingNode || depth >= maxDepth {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "<<" && n.Content[i].Tag == "!!merge" {
			if name, value := entryDepth(n.Content[i+1], key, depth+1); value != nil {
				return name, value
			}
		}
	}
	return nil, nil
}
