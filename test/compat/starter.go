package main

import (
	"archive/zip"
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
// tests, runs and validates the project, against this checkout. Of the project for Terraform it builds the zip file;
// checkTerraform plans its main.tf.
func checkStarter(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	c := &starterSAM{cli: must.Get(tools.InstallSAM(ctx)), stage: s}
	folder := filepath.Join(s.Tmp, "folder")
	must.Do(os.Mkdir(folder, 0o755))
	c.run(ctx, folder, "init", "--location", s.Root, "--name", projectName, "--no-input")
	fmt.Println("sam init: fine")

	p := &project{stage: s, dir: filepath.Join(folder, projectName)}
	p.prepare(ctx)
	p.try(ctx)
	c.build(ctx, p.dir)

	folder = filepath.Join(s.Tmp, "terraform")
	must.Do(os.Mkdir(folder, 0o755))
	c.start(folder, c.cli.Python(ctx, "-m", "cookiecutter", "--no-input", "-o", folder, s.Root, "deployment=terraform", "project_name="+projectName))
	p.dir, p.local = filepath.Join(folder, projectName), []string{"."} // without a template.yaml
	for name, want := range map[string]bool{"main.tf": true, "template.yaml": false, "samconfig.toml": false} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); (err == nil) != want {
			must.Failf("the project for Terraform has %s: %v, want %v", name, err == nil, want)
		}
	}
	p.prepare(ctx)
	p.try(ctx)
	p.run(ctx, "make", "build")
	z := must.Get(zip.OpenReader(filepath.Join(p.dir, "build", "function.zip")))
	defer z.Close()
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode().Perm() != 0o777 {
		must.Failf("the zip file has %v, want the bootstrap alone", z.File)
	}
	fmt.Println("with deployment=terraform: main.tf in place of SAM's files; make build packs the bootstrap")
	return nil
}

// starterSAM is the SAM CLI, with what its templates leave behind kept in one place.
type starterSAM struct {
	cli   *tools.SAM
	stage *tools.Stage
}

func (s *starterSAM) run(ctx context.Context, dir string, args ...string) {
	s.start(dir, s.cli.Command(ctx, args...))
}

func (s *starterSAM) start(dir string, cmd *exec.Cmd) {
	config := filepath.Join(s.stage.Tmp, "cookiecutter.yaml")
	text := fmt.Sprintf("cookiecutters_dir: %q\nreplay_dir: %q\n", filepath.Join(s.stage.Tmp, "templates"), filepath.Join(s.stage.Tmp, "replay"))
	must.Do(os.WriteFile(config, []byte(text), 0o644))
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "COOKIECUTTER_CONFIG="+config, "TMPDIR="+s.stage.Tmp)
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
	local []string // arguments of sqsbatch local
}

func (p *project) run(ctx context.Context, name string, args ...string) (out string) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	return must.Get(p.stage.Log.Run(cmd))
}

// prepare makes the project use this checkout.
func (p *project) prepare(ctx context.Context) {
	p.run(ctx, "go", "mod", "edit", "-replace", "github.com/sqsbatch/sqsbatch="+p.stage.Root)
	p.run(ctx, "go", "mod", "tidy")
}

// try runs what the project's README.md says, apart from what needs SAM.
func (p *project) try(ctx context.Context) {
	if unformatted := p.run(ctx, "gofmt", "-l", "."); unformatted != "" {
		must.Failf("gofmt would change %s", unformatted)
	}
	p.run(ctx, "make", "test")
	fmt.Println("go vet, go test: fine")
	for _, mode := range []string{"lambda", "poll"} {
		args := append([]string{"tool", "sqsbatch", "local", "--mode", mode, "--once", "--timeout", "2m", "--output", "json", "--event", "events/signups.json"}, p.local...)
		out := p.run(ctx, "go", args...)
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
