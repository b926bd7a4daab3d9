// Package sam checks the deployment with AWS's own tools: every template is
// clean under "sam validate --lint" or cfn-lint, so is what SAM's translator
// makes of it, and what "sam build" makes will start on Lambda, whatever the
// machine that builds.
//
// It needs Python 3 with its venv module, PyPI on the first use, and make.
package sam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	s.Step("templates", func() error { return checkTemplates(ctx, s, sam) })
	s.Step("build", func() error { return checkBuilds(ctx, s, sam) })
	return nil
}

// checkTemplates lints every template, and what SAM makes of its own.
func checkTemplates(ctx context.Context, s *stage.Stage, sam *samcli.CLI) (err error) {
	defer must.Return(&err)
	var wrong []error
	for _, t := range templates(ctx, s) {
		if err := t.check(ctx, s, sam); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	return errors.Join(wrong...)
}

type template struct{ name, text string }

func (t template) sam() bool { return strings.Contains(t.text, "AWS::Serverless-2016-10-31") }

// templates are all but those that tests read, which are wrong on purpose.
func templates(ctx context.Context, s *stage.Stage) (found []template) {
	for _, name := range must.Get(s.Files(ctx, "*.yaml", "*.yml", "*.json")) {
		if strings.Contains("/"+name, "/testdata/") {
			continue
		}
		text := must.Get(os.ReadFile(filepath.Join(s.Root, name)))
		if t := (template{name: name, text: string(text)}); t.sam() || strings.Contains(t.text, "AWSTemplateFormatVersion") {
			found = append(found, t)
		}
	}
	if len(found) < 4 {
		must.Failf("found only %d templates", len(found))
	}
	return found
}

func (t template) check(ctx context.Context, s *stage.Stage, sam *samcli.CLI) (err error) {
	defer must.Return(&err)
	if strings.Contains(t.text, "ignore_checks") {
		return errors.New("has cfn-lint ignore something")
	}
	path := filepath.Join(s.Root, t.name)
	if !t.sam() {
		must.Do(lint(ctx, s, sam, path))
		fmt.Printf("%s: cfn-lint finds nothing\n", t.name)
		return nil
	}
	environments := []string{""}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "samconfig.toml")); err == nil {
		environments = []string{"default", "dev", "prod"}
	}
	for _, env := range environments {
		args := []string{"validate", "--lint", "--template-file", path}
		if env != "" {
			args = append(args, "--config-env", env)
		}
		cmd := sam.Command(ctx, args...)
		cmd.Dir = filepath.Dir(path)
		must.Get(s.Log.Run(cmd))
	}
	fmt.Printf("%s: valid in %d environments, sam validate --lint finds nothing\n", t.name, len(environments))
	return t.checkTranslation(ctx, s, sam, path)
}

// checkTranslation lints what SAM makes of a template, and compares roles: SAM adds
// to one of its own what events need, for all queues.
func (t template) checkTranslation(ctx context.Context, s *stage.Stage, sam *samcli.CLI, path string) (err error) {
	defer must.Return(&err)
	source, plain := must.Get2(sam.Translate(ctx, path))
	translated := filepath.Join(s.Tmp, strings.NewReplacer("/", "-", "{", "", "}", "").Replace(t.name)+".json")
	must.Do(os.WriteFile(translated, plain.Text, 0o600))
	if err := lint(ctx, s, sam, translated); err != nil {
		return fmt.Errorf("what SAM makes of it: %w", err)
	}
	if before, after := source.Of("AWS::IAM::"), plain.Of("AWS::IAM::"); len(before) == 0 || !reflect.DeepEqual(before, after) {
		return fmt.Errorf("SAM changes what is allowed: from %v to %v", before, after)
	}
	fmt.Printf("%s: cfn-lint finds nothing in SAM's translation, and SAM allows nothing more\n", t.name)
	return nil
}

// lint runs cfn-lint, which fails on warnings, too.
func lint(ctx context.Context, s *stage.Stage, sam *samcli.CLI, path string) error {
	cmd := sam.Python(ctx, "-c", "import sys, cfnlint.runner; sys.exit(cfnlint.runner.main())", "--", path) // what its command does
	_, err := s.Log.Run(cmd)
	return err
}
