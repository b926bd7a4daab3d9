// Command deploying puts each snippet of docs/deploying.md and of
// docs/managed-instances.md into the template that it changes and has SAM's
// cfn-lint check the result, and runs the former page's commands for SQS against
// emulator/sqs. It ends with 1 when a template is not valid, or not without
// warnings, or a command is refused.
//
//	go run ./test/integration/deploying
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "deploying:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	docs := filepath.Join(root, "docs")
	page, err := os.ReadFile(filepath.Join(docs, "deploying.md"))
	if err != nil {
		return err
	}
	all, err := allParts(docs)
	if err != nil {
		return err
	}
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-deploying-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// One process for all of them, which is what "sam validate --lint" calls.
	lint := []string{"-c", "import sys, cfnlint.runner; sys.exit(cfnlint.runner.main())", "--regions", "us-east-1", "--"}
	for _, p := range all {
		template, err := p.assemble(docs)
		if err != nil {
			return err
		}
		file := filepath.Join(tmp, fmt.Sprintf("%s-line%d.yaml", strings.TrimSuffix(p.page, ".md"), p.line))
		if err := os.WriteFile(file, template, 0o644); err != nil {
			return err
		}
		lint = append(lint, file)
	}
	if out, err := sam.Python(ctx, lint...).CombinedOutput(); err != nil {
		return fmt.Errorf("snippets of the pages, put into their templates (files are named after a page and its line): %w\n%s", err, out)
	}
	fmt.Printf("cfn-lint finds nothing in the templates with %d snippets\n", len(all))
	return runQueueCommands(ctx, string(page), tmp)
}
