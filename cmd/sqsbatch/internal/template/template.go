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
	"bytes"
	_ "embed" // for defaults
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Names are the file names that [Find] looks for, in order of preference.
var Names = []string{"template.yaml", "template.yml", "template.json"}

// A Template is a parsed template file. It holds syntax only; [Template.Resolve]
// gives it meaning. A Template is not changed by Resolve.
type Template struct {
	Path string // the file's name as it was given to Read, and "" after Parse

	root   *yaml.Node
	source []byte
	text   func() *Text // of source, made when it is asked for
}

// Text is the file with the places of its nodes, for edits of it.
func (t *Template) Text() *Text { return t.text() }

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

// MaxSize bounds a template's text. CloudFormation takes 1 MB ("CloudFormation quotas").
const MaxSize = 4 << 20

// ReadAll reads up to most bytes. More are an error: r may be a device that never ends.
func ReadAll(r io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("it is larger than %d MiB, the most that is read", most>>20)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadFile is ReadAll of a file. Its errors name the path.
func ReadFile(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := ReadAll(f, most)
	if _, named := errors.AsType[*os.PathError](err); err != nil && !named {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return data, err
}

// Read reads and parses the template file at path, of at most [MaxSize] bytes.
func Read(path string) (*Template, error) {
	data, err := ReadFile(path, MaxSize)
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
// text is not a template: one document with a mapping named Resources, in which no mapping has a
// name twice.
func Parse(data []byte) (*Template, error) {
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("not a SAM or CloudFormation template: its top level is not a mapping")
	}
	if resources := child(root, "Resources"); resources == nil || resources.Kind != yaml.MappingNode {
		return nil, errors.New("not a SAM or CloudFormation template: it has no mapping named Resources")
	}
	if err := repeated(root); err != nil {
		return nil, err
	}
	text := sync.OnceValue(func() *Text { return newText(root, data) })
	return &Template{root: root, source: data, text: text}, nil
}

// defaults is the template of a function without one.
//
//go:embed defaults.yaml
var defaults []byte

// Defaults returns the template of a function without one, with the settings of the
// repository's template.
func Defaults() (*Template, error) { return Parse(defaults) }

// document parses the only document of a text.
func document(data []byte) (*yaml.Node, error) {
	documents, err := documents(data, 2)
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, errors.New("the file is empty")
	case len(documents) > 1:
		return nil, fmt.Errorf("line %d: a second document begins here, and a template is one document; put each template in a file of its own", documents[1].Line)
	}
	return documents[0].Content[0], nil
}

// documents parses up to most documents of a text.
func documents(data []byte, most int) (list []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for len(list) < most {
		var doc yaml.Node
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, &doc)
	}
	return list, nil
}

// maxRepeated bounds the names that one error lists.
const maxRepeated = 5

// repeated returns an error for names that a mapping has twice. Of those, CloudFormation and
// Kubernetes take the last and ignore the others, without a word.
func repeated(root *yaml.Node) error {
	var problems []error
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		lines := map[string]int{}
		for i, c := range n.Content {
			walk(c)
			if n.Kind != yaml.MappingNode || i%2 == 1 || c.Kind != yaml.ScalarNode || c.Tag == "!!merge" {
				continue
			}
			if first, again := lines[c.Value]; again && len(problems) < maxRepeated {
				problems = append(problems, fmt.Errorf("line %d: the name %q is already on line %d, and all but the last are ignored: remove or rename one", c.Line, c.Value, first))
			}
			lines[c.Value] = c.Line
		}
	}
	walk(root)
	return errors.Join(problems...)
}

// HasParameter reports whether the template declares a parameter.
func (t *Template) HasParameter(name string) bool {
	return child(child(t.root, "Parameters"), name) != nil
}

// OfCDK reports whether the CDK wrote the template: it has the paths of constructs, the
// CDK's own metadata or the version of its bootstrap stack.
func (t *Template) OfCDK() bool {
	all := child(t.root, "Resources")
	for i := 1; i < len(all.Content); i += 2 {
		kind := child(all.Content[i], "Type")
		if child(child(all.Content[i], "Metadata"), "aws:cdk:path") != nil || kind != nil && kind.Value == "AWS::CDK::Metadata" {
			return true
		}
	}
	version := child(child(child(t.root, "Parameters"), "BootstrapVersion"), "Default")
	return version != nil && strings.HasPrefix(version.Value, "/cdk-bootstrap/")
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
