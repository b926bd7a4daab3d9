// Package samcli gives the integration checks an AWS SAM CLI of a known
// version, and moto, installed by itself into the user's cache directory.
//
// It needs Python 3 with its venv module, and PyPI on the first use.
package samcli

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// The releases that the checks were written against. moto plays AWS's part when
// something is deployed; it shares most of what it needs with SAM.
const (
	version     = "1.170.0"
	motoVersion = "5.2.5"
)

// CLI is an installed SAM CLI.
type CLI struct{ env *pyenv.Env }

// Install returns the SAM CLI in the user's cache directory.
func Install(ctx context.Context) (*CLI, error) {
	env, err := pyenv.Install(ctx, "sam-"+version+"-moto-"+motoVersion,
		"aws-sam-cli=="+version, "moto[server,awslambda,cloudformation,s3,sqs]=="+motoVersion)
	return &CLI{env}, err
}

// Command is a run of sam, with telemetry off and a region for the commands
// that ask for one. Its output goes where the caller directs it.
func (c *CLI) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := c.env.Command(ctx, append([]string{"-m", "samcli"}, args...)...)
	cmd.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=us-east-1")
	return cmd
}

// Python is a run of the Python that has SAM, its translator, cfn-lint and moto.
func (c *CLI) Python(ctx context.Context, args ...string) *exec.Cmd {
	return c.env.Command(ctx, args...)
}

// RIE is the path of AWS's Runtime Interface Emulator, which SAM brings along.
func (c *CLI) RIE(ctx context.Context) (_ string, err error) {
	defer must.Return(&err)
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("the Runtime Interface Emulator runs on Linux, this is %s", runtime.GOOS)
	}
	arch := must.Get(Architecture())
	out, err := c.env.Command(ctx, "-c", "import samcli; print(samcli.__path__[0])").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("find samcli: %w\n%s", err, out)
	}
	path := filepath.Join(strings.TrimSpace(string(out)), "local", "rapid", "aws-lambda-rie-"+arch)
	return path, os.Chmod(path, 0o755) // wheels lose the mode
}

// Copy makes a copy of the repository in dir (what git knows, and would add), whose
// template.yaml asks for the architecture, unless that is "".
func Copy(ctx context.Context, s *stage.Stage, dir, arch string) (err error) {
	defer must.Return(&err)
	for _, name := range must.Get(s.Files(ctx)) {
		to := filepath.Join(dir, name)
		must.Do(os.MkdirAll(filepath.Dir(to), 0o755))
		must.Do(os.WriteFile(to, must.Get(os.ReadFile(filepath.Join(s.Root, name))), 0o644))
	}
	if arch == "" {
		return nil
	}
	path := filepath.Join(dir, "template.yaml")
	template := must.Get(os.ReadFile(path))
	const asked = "\n      Architectures: [arm64]"
	if strings.Count(string(template), asked) != 1 {
		return fmt.Errorf("template.yaml no longer has one line %q", strings.TrimSpace(asked))
	}
	changed := strings.Replace(string(template), asked, "\n      Architectures: ["+arch+"]", 1)
	return os.WriteFile(path, []byte(changed), 0o644)
}

// Architecture is this machine's, as SAM calls it.
func Architecture() (string, error) {
	arch, ok := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("Lambda runs on amd64 and arm64, this is %s", runtime.GOARCH)
	}
	return arch, nil
}

//go:embed translate.py
var translate string

// A Template is one in JSON, with intrinsic functions in their long form.
type Template struct {
	Text      []byte `json:"-"`
	Resources map[string]struct {
		Type       string
		Properties any
	}
}

// Of are the properties of the resources whose type begins so.
func (t *Template) Of(kind string) map[string]any {
	found := map[string]any{}
	for id, r := range t.Resources {
		if strings.HasPrefix(r.Type, kind) {
			found[id] = r.Properties
		}
	}
	return found
}

// Translate returns a SAM template as it is, and as SAM's own translator makes it
// CloudFormation. Parameters have their defaults.
func (c *CLI) Translate(ctx context.Context, path string) (source, plain *Template, err error) {
	defer must.Return(&err)
	cmd := c.env.Command(ctx, "-c", translate, path)
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION=us-east-1")
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.Output())
	var both struct{ Source, Plain json.RawMessage }
	must.Do(json.Unmarshal(out, &both))
	source, plain = &Template{Text: both.Source}, &Template{Text: both.Plain}
	must.Do(json.Unmarshal(both.Source, source))
	return source, plain, json.Unmarshal(both.Plain, plain)
}
