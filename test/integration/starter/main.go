// Package starter does what README.md tells who begins: "sam init --location", then
// builds, tests, runs and validates the project, against this checkout.
package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const name = "my-signups"

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	cli := must.Get(samcli.Install(ctx))
	c := &sam{cli: cli, stage: s}

	folder := filepath.Join(s.Tmp, "folder")
	must.Do(c.init(ctx, s.Root, folder))
	fmt.Println("sam init: fine")

	p := &project{stage: s, dir: filepath.Join(folder, name)}
	must.Do(p.use(ctx))
	must.Do(p.try(ctx))
	return c.build(ctx, p.dir)
}

// sam is the SAM CLI, with what its templates leave behind kept in one place.
type sam struct {
	cli   *samcli.CLI
	stage *stage.Stage
}

func (s *sam) run(ctx context.Context, dir string, args ...string) error {
	config := filepath.Join(s.stage.Tmp, "cookiecutter.yaml")
	text := fmt.Sprintf("cookiecutters_dir: %q\nreplay_dir: %q\n", filepath.Join(s.stage.Tmp, "templates"), filepath.Join(s.stage.Tmp, "replay"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	cmd := s.cli.Command(ctx, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "COOKIECUTTER_CONFIG="+config, "TMPDIR="+s.stage.Tmp)
	_, err := s.stage.Log.Run(cmd)
	return err
}

func (s *sam) init(ctx context.Context, location, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return s.run(ctx, dir, "init", "--location", location, "--name", name, "--no-input")
}

func (s *sam) build(ctx context.Context, dir string) (err error) {
	defer must.Return(&err)
	for _, env := range []string{"default", "dev", "prod"} {
		must.Do(s.run(ctx, dir, "validate", "--lint", "--config-env", env))
	}
	must.Do(s.run(ctx, dir, "build"))
	files, err := os.ReadDir(filepath.Join(dir, ".aws-sam", "build", "Function"))
	if err != nil || len(files) != 1 || files[0].Name() != "bootstrap" {
		return fmt.Errorf("sam build packs %v (%v), want the bootstrap alone", files, err)
	}
	fmt.Println("sam validate --lint in each environment, sam build: fine")
	return nil
}

type project struct {
	stage *stage.Stage
	dir   string
}

func (p *project) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	return p.stage.Log.Run(cmd)
}

// use has the project take the module from the checkout.
func (p *project) use(ctx context.Context) error {
	if _, err := p.run(ctx, "go", "mod", "edit", "-replace", "github.com/sqsbatch/sqsbatch="+p.stage.Root); err != nil {
		return err
	}
	_, err := p.run(ctx, "go", "mod", "tidy")
	return err
}

// try runs what the project's README.md says, apart from what needs SAM.
func (p *project) try(ctx context.Context) (err error) {
	defer must.Return(&err)
	unformatted, err := p.run(ctx, "gofmt", "-l", ".")
	if err != nil || unformatted != "" {
		return fmt.Errorf("gofmt would change %s(%v)", unformatted, err)
	}
	must.Get(p.run(ctx, "make", "test"))
	fmt.Println("go vet, go test: fine")
	for _, mode := range []string{"lambda", "poll"} {
		out := must.Get(p.run(ctx, "go", "tool", "sqsbatch", "local", "--mode", mode, "--once", "--timeout", "2m",
			"--output", "json", "--event", "events/signups.json"))
		var summary struct{ Type, Sent, Succeeded, DeadLettered, Remaining any }
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil {
			return fmt.Errorf("the last line of sqsbatch local is %q: %w", lines[len(lines)-1], err)
		}
		got := fmt.Sprintf("%v: %v sent, %v succeeded, %v dead letters, %v left",
			summary.Type, summary.Sent, summary.Succeeded, summary.DeadLettered, summary.Remaining)
		if want := "summary: 7 sent, 4 succeeded, 3 dead letters, 0 left"; got != want {
			return fmt.Errorf("sqsbatch local --mode %s: %s, want %s", mode, got, want)
		}
		fmt.Printf("sqsbatch local --mode %s: %s\n", mode, got)
	}
	return nil
}
