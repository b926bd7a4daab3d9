package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

const projectName = "my-signups"

// checkStarter takes the first steps of README.md: "sam init --location". Then it builds,
// tests, runs and validates the project, against this checkout.
func checkStarter(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	c := &starterSAM{cli: must.Get(tools.InstallSAM(ctx)), stage: s}
	folder := filepath.Join(s.Tmp, "folder")
	must.Do(os.Mkdir(folder, 0o755))
	c.run(ctx, folder, "init", "--location", s.Root, "--name", projectName, "--no-input")
	fmt.Println("sam init: fine")

	p := &project{stage: s, dir: filepath.Join(folder, projectName)}
	p.run(ctx, "go", "mod", "edit", "-replace", "github.com/sqsbatch/sqsbatch="+s.Root)
	p.run(ctx, "go", "mod", "tidy")
	p.try(ctx)
	c.build(ctx, p.dir)
	return nil
}

// starterSAM is the SAM CLI, with what its templates leave behind kept in one place.
type starterSAM struct {
	cli   *tools.SAM
	stage *tools.Stage
}

func (s *starterSAM) run(ctx context.Context, dir string, args ...string) {
	config := filepath.Join(s.stage.Tmp, "cookiecutter.yaml")
	text := fmt.Sprintf("cookiecutters_dir: %q\nreplay_dir: %q\n", filepath.Join(s.stage.Tmp, "templates"), filepath.Join(s.stage.Tmp, "replay"))
	must.Do(os.WriteFile(config, []byte(text), 0o644))
	cmd := s.cli.Command(ctx, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "COOKIECUTTER_CONFIG="+config, "TMPDIR="+s.stage.Tmp)
	must.Get(s.stage.Log.Run(cmd))
}

func (s *starterSAM) build(ctx context.Context, dir string) {
	for _, env := range []string{"default", "dev", "prod"} {
		s.run(ctx, dir, "validate", "--lint", "--config-env", env)
	}
	s.run(ctx, dir, "build")
	files, err := os.ReadDir(filepath.Join(dir, ".aws-sam", "build", "Function"))
	if err != nil || len(files) != 1 || files[0].Name() != "bootstrap" {
		must.Failf("sam build packs %v (%v), want the bootstrap alone", files, err)
	}
	fmt.Println("sam validate --lint in each environment, sam build: fine")
}

type project struct {
	stage *tools.Stage
	dir   string
}

func (p *project) run(ctx context.Context, name string, args ...string) (out string) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	return must.Get(p.stage.Log.Run(cmd))
}

// try runs what the project's README.md says, apart from what needs SAM.
func (p *project) try(ctx context.Context) {
	if unformatted := p.run(ctx, "gofmt", "-l", "."); unformatted != "" {
		must.Failf("gofmt would change %s", unformatted)
	}
	p.run(ctx, "make", "test")
	fmt.Println("go vet, go test: fine")
	for _, mode := range []string{"lambda", "poll"} {
		out := p.run(ctx, "go", "tool", "sqsbatch", "local", "--mode", mode, "--once", "--timeout", "2m", "--output", "json", "--event", "events/signups.json")
		var summary struct{ Type, Sent, Succeeded, DeadLettered, Remaining any }
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil {
			must.Failf("the last line of sqsbatch local is %q: %w", lines[len(lines)-1], err)
		}
		got := fmt.Sprintf("%v: %v sent, %v succeeded, %v dead letters, %v left",
			summary.Type, summary.Sent, summary.Succeeded, summary.DeadLettered, summary.Remaining)
		if want := "summary: 7 sent, 4 succeeded, 3 dead letters, 0 left"; got != want {
			must.Failf("sqsbatch local --mode %s: %s, want %s", mode, got, want)
		}
		fmt.Printf("sqsbatch local --mode %s: %s\n", mode, got)
	}
}
