// Package starter does what README.md tells who begins: "sam init --location", then
// builds, tests, runs and validates the project, against this checkout.
package starter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

const name = "my-signups"

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	cli, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	c := &sam{cli: cli, stage: s}

	folder := filepath.Join(s.Tmp, "folder")
	if err := c.init(ctx, s.Root, folder); err != nil {
		return err
	}
	fmt.Println("sam init: fine")

	p := &project{stage: s, dir: filepath.Join(folder, name)}
	if err := p.use(ctx); err != nil {
		return err
	}
	if err := p.try(ctx); err != nil {
		return err
	}
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
