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

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
)

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```\n")

// commands are the lines of a page's blocks of shell commands, without comments.
func commands(page string) (found []string) {
	for _, block := range shell.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			text, _, _ := strings.Cut(line, " #")
			found = append(found, strings.TrimSpace(text))
		}
	}
	return found
}

// queueCommands are the commands for SQS of docs/deploying, which can be run without
// an account.
func queueCommands(docs string) (found []string, err error) {
	pages, err := deploying(docs)
	if err != nil {
		return nil, err
	}
	for _, name := range pages {
		page, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			return nil, err
		}
		for _, c := range commands(string(page)) {
			if strings.HasPrefix(c, "aws sqs ") {
				found = append(found, c)
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no commands for SQS", filepath.Join(docs, "deploying"))
	}
	return found, nil
}

// runQueueCommands runs the commands for SQS of docs/deploying with the AWS CLI, page
// by page in their order, against emulator/sqs.
func runQueueCommands(ctx context.Context, docs, tmp string) error {
	list, err := queueCommands(docs)
	if err != nil {
		return err
	}
	server, err := sqs.Serve("127.0.0.1:0", sqs.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	client := server.Client()
	for _, q := range []awssqs.CreateQueueInput{
		{QueueName: aws.String("orders-dead")},
		{QueueName: aws.String("orders"), Attributes: map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"` + server.QueueARN("orders-dead") + `","maxReceiveCount":5}`,
		}},
	} {
		if _, err := client.CreateQueue(ctx, &q); err != nil {
			return err
		}
	}

	env, err := awscli.Install(ctx)
	if err != nil {
		return err
	}
	// Version 1 of the CLI has no variable for the endpoint.
	python := env.Command(ctx).Path
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -m awscli --endpoint-url '%s' \"$@\"\n", python, server.URL())
	if err := os.WriteFile(filepath.Join(tmp, "aws"), []byte(script), 0o755); err != nil {
		return err
	}
	for _, c := range list {
		cmd := exec.CommandContext(ctx, "sh", "-c", c)
		cmd.Env = append(os.Environ(), "PATH="+tmp+string(os.PathListSeparator)+os.Getenv("PATH"),
			"AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_PAGER=",
			"QUEUE_URL="+server.QueueURL("orders"), "QUEUE_ARN="+server.QueueARN("orders"),
			"DEAD_LETTER_QUEUE_URL="+server.QueueURL("orders-dead"), "DEAD_LETTER_QUEUE_ARN="+server.QueueARN("orders-dead"),
		)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	fmt.Printf("%d commands of the AWS CLI, against emulator/sqs: accepted\n", len(list))
	return nil
}
