// Package snippets puts each snippet of docs/deploying and of
// docs/managed-instances.md into the template that it changes and has SAM's
// cfn-lint check the result. It runs the commands for SQS of docs/deploying, of the
// runbooks and of the page about dead letters against emulator/sqs.
package snippets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"go.yaml.in/yaml/v3"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	docs := filepath.Join(s.Root, "docs")
	all := allParts(docs)
	sam := must.Get(samcli.Install(ctx))
	// One process for all of them, which is what "sam validate --lint" calls.
	lint := []string{"-c", "import sys, cfnlint.runner; sys.exit(cfnlint.runner.main())", "--regions", "us-east-1", "--"}
	for _, p := range all {
		template := must.Get(p.assemble(docs))
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(p.page), ".md"), "/", "-")
		file := filepath.Join(s.Tmp, fmt.Sprintf("%s-line%d.yaml", name, p.line))
		must.Do(os.WriteFile(file, template, 0o644))
		lint = append(lint, file)
	}
	if _, err := s.Log.Run(sam.Python(ctx, lint...)); err != nil {
		return fmt.Errorf("snippets of the pages, put into their templates (files are named after a page and its line): %w", err)
	}
	fmt.Printf("cfn-lint finds nothing in the templates with %d snippets\n", len(all))
	runQueueCommands(ctx, docs, s.Tmp)
	return nil
}

// pagesOf are the pages of a folder of docs, from there, in the order of their names.
func pagesOf(docs, folder string) (pages []string) {
	for _, file := range must.Get(filepath.Glob(filepath.Join(docs, folder, "*.md"))) {
		pages = append(pages, filepath.Join(folder, filepath.Base(file)))
	}
	if len(pages) == 0 {
		must.Failf("%s has no pages", filepath.Join(docs, folder))
	}
	return pages
}

// withoutSnippets are pages of docs/deploying that change no template.
var withoutSnippets = []string{"README.md", "cost.md"}

// part is a snippet of a page: a change to a template.
type part struct {
	page string // from docs
	base string // the template's path, from the page
	text string
	line int
}

// name says in errors which part it is.
func (p part) name() string { return fmt.Sprintf("docs/%s:%d", p.page, p.line) }

var snippet = regexp.MustCompile("(?s)(?:<!-- part: (\\S+) -->\n)?```yaml\n(.*?)```\n")

// allParts finds the snippets of all pages, which are in the directory docs: those
// of docs/deploying, and docs/managed-instances.md.
func allParts(docs string) (all []part) {
	for _, name := range append(pagesOf(docs, "deploying"), "managed-instances.md") {
		all = append(all, parts(name, string(must.Get(os.ReadFile(filepath.Join(docs, name)))))...)
	}
	return all
}

// parts finds a page's snippets, each of which names the template it changes.
func parts(name, page string) (found []part) {
	for _, m := range snippet.FindAllStringSubmatchIndex(page, -1) {
		p := part{page: name, text: page[m[4]:m[5]], line: 1 + strings.Count(page[:m[4]], "\n")}
		if m[2] < 0 {
			must.Failf("%s: the snippet does not say which template it changes (<!-- part: FILE -->)", p.name())
		}
		p.base = page[m[2]:m[3]]
		found = append(found, p)
	}
	if len(found) == 0 && !slices.Contains(withoutSnippets, filepath.Base(name)) {
		must.Failf("docs/%s has no snippets of YAML", name)
	}
	return found
}

// assemble puts the part into its template. The page is found from docs.
func (p part) assemble(docs string) (_ []byte, err error) {
	defer must.Return(&err)
	base := must.Get(os.ReadFile(filepath.Join(docs, filepath.Dir(p.page), p.base)))
	var template, change yaml.Node
	if err := yaml.Unmarshal(base, &template); err != nil {
		return nil, fmt.Errorf("%s: %w", p.base, err)
	}
	if err := yaml.Unmarshal([]byte(p.text), &change); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	if err := merge(template.Content[0], change.Content[0]); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err = errors.Join(e.Encode(&template), e.Close())
	return out.Bytes(), err
}

// merge puts the keys of change over those of into: mappings are merged, null
// deletes, and anything else takes the place of what was there.
func merge(into, change *yaml.Node) error {
	if into.Kind != yaml.MappingNode || change.Kind != yaml.MappingNode {
		return errors.New("both must be mappings")
	}
	for i := 0; i < len(change.Content); i += 2 {
		key, value := change.Content[i], change.Content[i+1]
		at := find(into, key.Value)
		switch {
		case value.Tag == "!!null":
			if at < 0 {
				return fmt.Errorf("deletes %s, which is not there", key.Value)
			}
			into.Content = append(into.Content[:at:at], into.Content[at+2:]...)
		case at < 0:
			into.Content = append(into.Content, key, value)
		case value.Kind == yaml.MappingNode && into.Content[at+1].Kind == yaml.MappingNode:
			if err := merge(into.Content[at+1], value); err != nil {
				return fmt.Errorf("%s: %w", key.Value, err)
			}
		default:
			into.Content[at+1] = value
		}
	}
	return nil
}

func find(mapping *yaml.Node, key string) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}
