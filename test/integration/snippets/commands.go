package snippets

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

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
	env := must.Get(awscli.Install(ctx))
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
		cmd.Env = stage.Environment("PATH="+tmp+string(os.PathListSeparator)+os.Getenv("PATH"), "AWS_PAGER=",
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
