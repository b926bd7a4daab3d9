package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
	"go.yaml.in/yaml/v3"
)

// checkSAM checks the deployment with AWS's own tools: every template is
// clean under "sam validate --lint" or cfn-lint, so is what SAM's translator
// makes of it, and what "sam build" makes will start on Lambda, whatever the
// machine that builds.
//
// It needs Python 3 with its venv module, PyPI on the first use, and make.
func checkSAM(ctx context.Context, s *tools.Stage) error {
	sam, err := tools.InstallSAM(ctx)
	if err != nil {
		return err
	}
	s.Step("templates", func() error { return checkTemplates(ctx, s, sam) })
	s.Step("build", func() error { return checkBuilds(ctx, s, sam) })
	return nil
}

// checkTemplates lints every template, and what SAM makes of its own.
func checkTemplates(ctx context.Context, s *tools.Stage, sam *tools.SAM) (err error) {
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
func templates(ctx context.Context, s *tools.Stage) (found []template) {
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

func (t template) check(ctx context.Context, s *tools.Stage, sam *tools.SAM) (err error) {
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
func (t template) checkTranslation(ctx context.Context, s *tools.Stage, sam *tools.SAM, path string) (err error) {
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
func lint(ctx context.Context, s *tools.Stage, sam *tools.SAM, path string) error {
	cmd := sam.Python(ctx, "-c", "import sys, cfnlint.runner; sys.exit(cfnlint.runner.main())", "--", path) // what its command does
	_, err := s.Log.Run(cmd)
	return err
}

// checkBuilds builds for both architectures in several environments: the bootstrap
// is the same byte for byte.
func checkBuilds(ctx context.Context, s *tools.Stage, sam *tools.SAM) (err error) {
	defer must.Return(&err)
	for _, arch := range []string{"arm64", "x86_64"} {
		source := filepath.Join(s.Tmp, arch)
		must.Do(tools.CopyRepository(ctx, s, source, arch))
		var first []byte
		for _, environment := range [][]string{nil, {"CGO_ENABLED=0"}, {"CGO_ENABLED=1", "GOFLAGS=-tags=other"}} {
			content, err := buildSAM(ctx, s, sam, source, arch, environment)
			if err != nil {
				return fmt.Errorf("sam build for %s with %v: %w", arch, environment, err)
			}
			if first == nil {
				first = content
			}
			if !bytes.Equal(content, first) {
				return fmt.Errorf("sam build for %s with %v makes another bootstrap than without", arch, environment)
			}
		}
		fmt.Printf("sam build makes a static, stripped %s bootstrap of %.1f MB, the same with cgo on, off and by default\n", arch, float64(len(first))/1e6)
	}
	return nil
}

func buildSAM(ctx context.Context, s *tools.Stage, sam *tools.SAM, source, arch string, environment []string) (_ []byte, err error) {
	defer must.Return(&err)
	cmd := sam.Command(ctx, "build")
	cmd.Dir = source
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "CGO_ENABLED=") || strings.HasPrefix(v, "GOFLAGS=") })
	cmd.Env = append(cmd.Env, environment...)
	must.Get(s.Log.Run(cmd))
	built := filepath.Join(source, ".aws-sam", "build")
	dir := filepath.Join(built, "OrdersFunction")
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("left no function: %w", err)
	}
	if len(files) != 1 || files[0].Name() != "bootstrap" {
		return nil, fmt.Errorf("packs %v, want the bootstrap alone", files)
	}
	if asked := builtArchitectures(filepath.Join(built, "template.yaml")); !slices.Equal(asked, []string{arch}) {
		return nil, fmt.Errorf("deploys it for %v", asked)
	}
	path := filepath.Join(dir, "bootstrap")
	if err := checkBootstrap(path, arch); err != nil {
		return nil, fmt.Errorf("the bootstrap %w", err)
	}
	return os.ReadFile(path)
}

// checkBootstrap looks for what keeps a binary from starting on Lambda.
func checkBootstrap(path, arch string) (err error) {
	defer must.Return(&err)
	info := must.Get(os.Stat(path))
	if info.Mode()&0o111 == 0 {
		return errors.New("is not executable")
	}
	f := must.Get(os.Open(path))
	defer f.Close()
	must.Do(tools.CheckELF(f, arch))
	checkSettings(path)
	return nil
}

func checkSettings(path string) {
	got := map[string]string{}
	for _, s := range must.Get(buildinfo.ReadFile(path)).Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{"CGO_ENABLED": "0", "-tags": "lambda.norpc", "-trimpath": "true"} {
		if got[key] != want {
			must.Failf("was built with %s=%q, want %q", key, got[key], want)
		}
	}
}

// builtArchitectures are those of the function in a built template.
func builtArchitectures(template string) []string {
	var t struct {
		Resources struct {
			OrdersFunction struct {
				Properties struct {
					Architectures []string `yaml:"Architectures"`
				} `yaml:"Properties"`
			} `yaml:"OrdersFunction"`
		} `yaml:"Resources"`
	}
	must.Do(yaml.Unmarshal(must.Get(os.ReadFile(template)), &t))
	return t.Resources.OrdersFunction.Properties.Architectures
}
