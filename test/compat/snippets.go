package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
	"go.yaml.in/yaml/v3"
)

// checkSnippets puts each snippet of docs/deploying and of
// docs/managed-instances.md into the template that it changes and has SAM's
// cfn-lint check the result. It runs the commands for SQS of docs/deploying, of the
// runbooks and of the page about dead letters against emulator/sqs.
func checkSnippets(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	docs := filepath.Join(s.Root, "docs")
	all := allParts(docs)
	sam := must.Get(tools.InstallSAM(ctx))
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
var withoutSnippets = []string{"README.md", "cost.md", "terraform.md"}

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

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```\n")

// commands are the lines of a page's blocks of shell commands, without comments. A line
// that ends in a pipe goes on in the next one.
func commands(page string) (found []string) {
	for _, block := range shell.FindAllStringSubmatch(page, -1) {
		before := ""
		for line := range strings.Lines(block[1]) {
			text, _, _ := strings.Cut(line, " #")
			before += strings.TrimSpace(text)
			if strings.HasSuffix(before, "|") {
				before += " "
				continue
			}
			found = append(found, before)
			before = ""
		}
	}
	return found
}

// pageCommands are the commands for SQS of a page.
type pageCommands struct {
	page string
	list []string
}

// queueCommands are the commands for SQS of docs/deploying, of the runbooks and of the page
// about dead letters, which can be run without an account.
func queueCommands(docs string) (found []pageCommands) {
	pages := append(pagesOf(docs, "deploying"), pagesOf(docs, "runbooks")...)
	for _, name := range append(pages, filepath.Join("observability", "dead-letters.md")) {
		page := must.Get(os.ReadFile(filepath.Join(docs, name)))
		p := pageCommands{page: name}
		for _, c := range commands(string(page)) {
			if strings.HasPrefix(c, "aws sqs ") {
				p.list = append(p.list, c)
			}
		}
		if len(p.list) > 0 {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		must.Failf("%s has no commands for SQS", docs)
	}
	return found
}

// deadLetter is an attribute as docs/observability/dead-letters.md shows it.
const deadLetter = `{"v":1,"reason":"no such customer","messageId":"059f36b4-87a3-44ab-83d2-661975830a7d","attempts":1}`

// fillQueues makes the queues of the template, with a dead letter.
func fillQueues(ctx context.Context, client *awssqs.Client) {
	_, dead := must.Get2(harness.MakeQueues(ctx, client, "orders", "orders-dead", 5))
	must.Get(client.SendMessage(ctx, &awssqs.SendMessageInput{
		QueueUrl: &dead, MessageBody: aws.String("{}"),
		MessageAttributes: map[string]types.MessageAttributeValue{"sqsbatch": {DataType: aws.String("String"), StringValue: aws.String(deadLetter)}},
	}))
}

// runQueueCommands runs these commands with the AWS CLI, page by page in their order, each
// page against queues of its own in emulator/sqs.
func runQueueCommands(ctx context.Context, docs, tmp string) {
	env := must.Get(tools.InstallAWSCLI(ctx))
	count := 0
	for _, p := range queueCommands(docs) {
		if err := runPage(ctx, p, env.Command(ctx).Path, tmp); err != nil {
			must.Failf("docs/%s: %w", filepath.ToSlash(p.page), err)
		}
		count += len(p.list)
	}
	fmt.Printf("%d commands of the AWS CLI, against emulator/sqs: accepted\n", count)
}

func runPage(ctx context.Context, p pageCommands, python, tmp string) (err error) {
	defer must.Return(&err)
	server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{}))
	defer server.Close()
	fillQueues(ctx, server.Client())
	// Version 1 of the CLI has no variable for the endpoint.
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -m awscli --endpoint-url '%s' \"$@\"\n", python, server.URL())
	must.Do(os.WriteFile(filepath.Join(tmp, "aws"), []byte(script), 0o755))
	for _, c := range p.list {
		cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", c)
		cmd.Env = tools.Environment("PATH="+tmp+string(os.PathListSeparator)+os.Getenv("PATH"), "AWS_PAGER=",
			"QUEUE_URL="+server.QueueURL("orders"), "QUEUE_ARN="+server.QueueARN("orders"),
			"DEAD_LETTER_QUEUE_URL="+server.QueueURL("orders-dead"), "DEAD_LETTER_QUEUE_ARN="+server.QueueARN("orders-dead"),
		)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", c, err, out)
		}
		// Commands with a filter are for the dead letter, whose id each of them prints.
		if strings.Contains(c, "| jq") && !strings.Contains(string(out), "059f36b4-87a3-44ab-83d2-661975830a7d") {
			return fmt.Errorf("%s finds nothing:\n%s", c, out)
		}
	}
	return nil
}
