package template

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// TaskDefinition is the type of task definitions of Amazon ECS.
const TaskDefinition = "AWS::ECS::TaskDefinition"

// maxDocuments bounds the documents of a file of manifests.
const maxDocuments = 10_000

// ParseManifest parses manifests of Kubernetes, or a task definition as the AWS CLI reads and
// prints it. It returns them as a template: each object is a resource, whose type is its kind and
// whose properties are its fields. A List is its items. Other documents are left out. The template
// is nil if the text has neither.
func ParseManifest(data []byte) (*Template, error) {
	if !bytes.Contains(data, []byte("apiVersion")) && !bytes.Contains(data, []byte("containerDefinitions")) {
		return nil, nil
	}
	list, err := documents(data, maxDocuments+1)
	helm := bytes.Contains(data, []byte("{{"))
	switch {
	case err != nil && helm:
		return nil, fmt.Errorf("%w; if it is a template of Helm, check what `helm template` prints", err)
	case err != nil:
		return nil, err
	case len(list) > maxDocuments:
		return nil, fmt.Errorf("it has more than %d documents", maxDocuments)
	}
	texts := &yaml.Node{Kind: yaml.SequenceNode}
	resources := &yaml.Node{Kind: yaml.MappingNode}
	for _, doc := range list {
		if child(doc.Content[0], "Resources") != nil {
			return nil, nil // a template
		}
		texts.Content = append(texts.Content, doc.Content...)
		addObjects(resources, doc.Content[0], 0)
	}
	switch {
	case len(resources.Content) == 0 && helm:
		return nil, errors.New("it is no manifest of Kubernetes; if it is a template of Helm, check what `helm template` prints")
	case len(resources.Content) == 0:
		return nil, nil
	}
	if err := repeated(texts); err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("Resources"), resources}}
	text := sync.OnceValue(func() *Text { return newText(texts, data) })
	return &Template{root: root, source: data, text: text}, nil
}

// addObjects adds the objects of a document, each with its place.
func addObjects(resources, n *yaml.Node, depth int) {
	kind := textOf(n, "kind")
	items := child(n, "items")
	switch definition := child(n, "taskDefinition"); {
	case definition != nil && child(definition, "containerDefinitions") != nil:
		addObject(resources, definition, TaskDefinition, textOf(definition, "family"))
	case child(n, "containerDefinitions") != nil:
		addObject(resources, n, TaskDefinition, textOf(n, "family"))
	case child(n, "apiVersion") == nil:
	case strings.HasSuffix(kind, "List") && items != nil && items.Kind == yaml.SequenceNode && depth == 0:
		for _, item := range items.Content {
			if item.Kind != yaml.AliasNode { // which has no place of its own, and may multiply
				addObjects(resources, item, depth+1)
			}
		}
	case kind != "":
		name := textOf(child(n, "metadata"), "name")
		if namespace := textOf(child(n, "metadata"), "namespace"); namespace != "" {
			name = namespace + "/" + name
		}
		addObject(resources, n, kind, strings.TrimSuffix(kind+" "+name, " "))
	}
}

func addObject(resources, n *yaml.Node, kind, name string) {
	if name == "" {
		name = "task definition"
	}
	key := scalar(name)
	key.Line, key.Column = n.Line, n.Column
	entry := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{scalar("Type"), scalar(kind), scalar("Properties"), n}}
	resources.Content = append(resources.Content, key, entry)
}

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// textOf returns the text of an entry, "" if it is none.
func textOf(n *yaml.Node, name string) string {
	v := child(n, name)
	if v != nil && v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return v.Value
}
