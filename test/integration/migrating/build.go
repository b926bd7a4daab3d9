package migrating

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

var shown = regexp.MustCompile("(?s)<!-- file: \\.\\./\\.\\./examples/migrating/(\\S+) -->\n```go\n(.*?)```\n")

// build builds the programs that the pages show as one who copies them: in a
// module that has nothing but them.
func build(ctx context.Context, s *stage.Stage, pages []page) error {
	dir := filepath.Join(s.Tmp, "moved")
	var files [][]string
	for _, p := range pages {
		files = append(files, shown.FindAllStringSubmatch(p.text, -1)...)
	}
	if len(files) == 0 {
		return errors.New("docs/migrating shows no programs")
	}
	for _, f := range files {
		file := filepath.Join(dir, filepath.FromSlash(f[1]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(f[2]), 0o644); err != nil {
			return err
		}
	}
	mod := fmt.Sprintf("module example.com/moved\n\ngo 1.26\n\nrequire github.com/sqsbatch/sqsbatch v0.0.0\n\nreplace github.com/sqsbatch/sqsbatch => %q\n", s.Root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"vet", "./..."}} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		if _, err := s.Log.Run(cmd); err != nil {
			return fmt.Errorf("the programs of docs/migrating in a module of their own: %w", err)
		}
	}
	fmt.Printf("%d files of the pages build in a module of their own\n", len(files))
	return nil
}
