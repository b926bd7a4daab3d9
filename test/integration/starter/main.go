// Command starter does what README.md tells who begins: "sam init --location",
// then builds, tests, runs and validates the project that comes of it, against
// this checkout instead of the released module that the project asks for. It
// ends with 1 when something of that fails.
//
//	go run ./test/integration/starter
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

const name = "my-signups"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	cli, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-starter-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return err
	}
	s := &sam{cli: cli, tmp: tmp}

	fromFolder, fromArchive := filepath.Join(tmp, "folder"), filepath.Join(tmp, "archive")
	if err := s.init(ctx, root, fromFolder); err != nil {
		return err
	}
	url, closeServer, err := serveArchive(ctx, root)
	if err != nil {
		return err
	}
	err = s.init(ctx, url, fromArchive)
	closeServer()
	if err != nil {
		return err
	}
	if err := sameFiles(fromFolder, fromArchive); err != nil {
		return fmt.Errorf("the folder and the archive give different projects: %w", err)
	}
	fmt.Println("sam init: from a folder and from an archive's URL, the same project")

	p := &project{dir: filepath.Join(fromFolder, name)}
	if err := p.use(ctx, root); err != nil {
		return err
	}
	if err := p.try(ctx); err != nil {
		return err
	}
	return s.build(ctx, p.dir)
}

// sam is the SAM CLI, with what its templates leave behind kept in one place.
type sam struct {
	cli *samcli.CLI
	tmp string
}

func (s *sam) run(ctx context.Context, dir string, args ...string) error {
	config := filepath.Join(s.tmp, "cookiecutter.yaml")
	text := fmt.Sprintf("cookiecutters_dir: %q\nreplay_dir: %q\n", filepath.Join(s.tmp, "templates"), filepath.Join(s.tmp, "replay"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	cmd := s.cli.Command(ctx, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "COOKIECUTTER_CONFIG="+config, "TMPDIR="+s.tmp)
	if _, err := output(cmd); err != nil {
		return fmt.Errorf("sam %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func (s *sam) init(ctx context.Context, location, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return s.run(ctx, dir, "init", "--location", location, "--name", name, "--no-input")
}

func (s *sam) build(ctx context.Context, dir string) error {
	for _, env := range []string{"default", "dev", "prod"} {
		if err := s.run(ctx, dir, "validate", "--lint", "--config-env", env); err != nil {
			return err
		}
	}
	if err := s.run(ctx, dir, "build"); err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(dir, ".aws-sam", "build", "Function"))
	if err != nil || len(files) != 1 || files[0].Name() != "bootstrap" {
		return fmt.Errorf("sam build packs %v (%v), want the bootstrap alone", files, err)
	}
	fmt.Println("sam validate --lint in each environment, sam build: fine")
	return nil
}

// output runs a command and returns what it printed; its error has all of it.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, all bytes.Buffer
	cmd.Stdout = &tee{&stdout, &all}
	cmd.Stderr = &all
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, all.Bytes())
	}
	return stdout.String(), nil
}

type tee struct{ a, b *bytes.Buffer }

func (t *tee) Write(p []byte) (int, error) {
	t.a.Write(p)
	return t.b.Write(p)
}
