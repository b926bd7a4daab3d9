// Package dynamodb holds idempotency/dynamostore against AWS's DynamoDB Local: the suite for
// stores, the histories that porcupine checks, and two worker processes with one table, one
// of which is killed. SQS is `sqsbatch sqs` in a process of its own. Functions with Powertools for
// AWS Lambda, in Python and TypeScript, share a table with ours.
//
// It needs Java 17 or newer, and on the first use Maven and Maven Central. Powertools needs Python 3
// with its venv module, and on the first use PyPI and npm's registry.
package dynamodb

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/dynamodblocal"
	"github.com/sqsbatch/sqsbatch/test/internal/javaserver"
)

// Steps are the steps of the check.
func Steps(ctx context.Context, s *stage.Stage) []stage.Step {
	w := &world{stage: s}
	return []stage.Step{
		{Name: "DynamoDB Local", Run: func() error { return w.start(ctx) }},
		{Name: "the tests of idempotency/dynamostore", Run: func() error { return w.test(ctx) }},
		{Name: "two workers, one of which is killed", Run: func() error { return w.kill(ctx) }},
		{Name: "Powertools for Python " + powertoolsPython, Run: func() error { return w.shareWithPython(ctx) }},
		{Name: "Powertools for TypeScript " + powertoolsTypeScript, Run: func() error { return w.shareWithTypeScript(ctx) }},
		{Name: "batches of ten, and Powertools for Python", Run: func() error { return w.cost(ctx) }},
		{Name: "stop", Run: w.stop},
	}
}

// world is what the steps share.
type world struct {
	stage *stage.Stage
	local *javaserver.Server
}

// start wraps ErrNotRun, because only what this machine does not have can fail here.
func (w *world) start(ctx context.Context) (err error) {
	if w.local, err = dynamodblocal.Start(ctx); err != nil {
		return fmt.Errorf("%w: %w", stage.ErrNotRun, err)
	}
	return nil
}

// test runs the tests of the package, which run against a real server if it is named.
func (w *world) test(ctx context.Context) error {
	if w.local == nil {
		return fmt.Errorf("%w: there is no DynamoDB Local", stage.ErrNotRun)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout=5m", "./idempotency/dynamostore", "-args", "-dynamodb="+w.local.URL)
	cmd.Dir = w.stage.Root
	out, err := w.stage.Log.Run(cmd)
	if err != nil {
		return err
	}
	passed := strings.Count(out, "--- PASS: TestStore/idempotency_in_DynamoDB_Local/") + strings.Count(out, "--- PASS: TestStore/idempotency-sorted_in_DynamoDB_Local/")
	if passed < 50 || !strings.Contains(out, "--- PASS: TestHistories/DynamoDB_Local") {
		return fmt.Errorf("only %d tests of the suite were run against DynamoDB Local, or no histories", passed)
	}
	fmt.Printf("%d tests of the suite, and histories\n", passed)
	return nil
}

func (w *world) stop() error {
	if w.local != nil {
		w.local.Stop()
	}
	return nil
}
