package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// The releases that the checks were written against. moto plays AWS's part when
// something is deployed; it shares most of what it needs with SAM.
const (
	samVersion  = "1.170.0"
	motoVersion = "5.2.5"
)

// SAM is an installed SAM CLI.
type SAM struct{ env *Python }

// InstallSAM returns the SAM CLI in the user's cache directory.
func InstallSAM(ctx context.Context) (*SAM, error) {
	env, err := InstallPython(ctx, "sam-"+samVersion+"-moto-"+motoVersion,
		"aws-sam-cli=="+samVersion, "moto[server,awslambda,cloudformation,s3,sqs]=="+motoVersion)
	return &SAM{env}, err
}

// Command is a run of sam, with telemetry off and a region for the commands
// that ask for one. Its output goes where the caller directs it.
func (c *SAM) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := c.env.Command(ctx, append([]string{"-m", "samcli"}, args...)...)
	cmd.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=us-east-1")
	return cmd
}

// Python is a run of the Python that has SAM, its translator, cfn-lint and moto.
func (c *SAM) Python(ctx context.Context, args ...string) *exec.Cmd {
	return c.env.Command(ctx, args...)
}

// RIE is the path of AWS's Runtime Interface Emulator, which SAM brings along.
func (c *SAM) RIE(ctx context.Context) (_ string, err error) {
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

// CopyRepository makes a copy of the repository in dir (what git knows, and would add), whose
// template.yaml asks for the architecture, unless that is "".
func CopyRepository(ctx context.Context, s *Stage, dir, arch string) (err error) {
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
func (c *SAM) Translate(ctx context.Context, path string) (source, plain *Template, err error) {
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

// A Moto is moto's, in a process of its own.
type Moto struct {
	URL     string
	process *subprocess.Process
}

// StartMoto returns when the server answers. script is a path in the repository; its
// arguments are the port and those that are given here. What it prints is logged.
func StartMoto(ctx context.Context, s *Stage, sam *SAM, script string, args ...string) (_ *Moto, err error) {
	defer must.Return(&err)
	address := must.Get(harness.FreeAddress())
	_, port := must.Get2(net.SplitHostPort(address))
	// By its name: below an address the SDK would not put a bucket into the path.
	m := &Moto{URL: "http://localhost:" + port}
	cmd := sam.Python(context.WithoutCancel(ctx), append([]string{filepath.Join(s.Root, filepath.FromSlash(script)), port}, args...)...)
	cmd.Env = Environment()
	m.process = must.Get(subprocess.Start(cmd, func(_, text string) { fmt.Fprintln(s.Log, text) }))
	if err := harness.Ready(ctx, m.process, m.answers); err != nil {
		m.Stop()
		return nil, fmt.Errorf("moto's server does not answer: %w", err)
	}
	return m, nil
}

func (m *Moto) answers() error {
	res, err := http.Get(m.URL + "/moto-api/data.json")
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Stop ends the server, which has nothing to save.
func (m *Moto) Stop() { m.process.Kill() }
