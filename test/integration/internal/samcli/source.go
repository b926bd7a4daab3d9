package samcli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// Copy makes a copy of the repository in dir (what git knows, and would add), whose
// template.yaml asks for the architecture, unless that is "".
func Copy(ctx context.Context, s *stage.Stage, dir, arch string) error {
	files, err := s.Files(ctx)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := copyFile(filepath.Join(s.Root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if arch == "" {
		return nil
	}
	path := filepath.Join(dir, "template.yaml")
	template, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const asked = "\n      Architectures: [arm64]"
	if strings.Count(string(template), asked) != 1 {
		return fmt.Errorf("template.yaml no longer has one line %q", strings.TrimSpace(asked))
	}
	changed := strings.Replace(string(template), asked, "\n      Architectures: ["+arch+"]", 1)
	return os.WriteFile(path, []byte(changed), 0o644)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// Architecture is this machine's, as SAM calls it.
func Architecture() (string, error) {
	arch, ok := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("Lambda runs on amd64 and arm64, this is %s", runtime.GOARCH)
	}
	return arch, nil
}
