// Package snippets puts each snippet of docs/deploying and of
// docs/managed-instances.md into the template that it changes and has SAM's
// cfn-lint check the result. It runs the commands for SQS of docs/deploying, of the
// runbooks and of the page about dead letters against emulator/sqs.
package snippets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
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
