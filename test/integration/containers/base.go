package containers

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/engine"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// What the image of the build stage is called, and where modules are in it.
const (
	goImage = "sqsbatch.example/golang:here"
	modules = "modules"
)

// certificates is where Debian has them, and with it the official Go image.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// importBase gives the engine an image for the official one of Go: this machine's
// Go, certificates, a shell, and the modules of the build.
func importBase(ctx context.Context, e *engine.Engine, s *stage.Stage) error {
	if _, err := os.Stat(certificates); err != nil {
		return fmt.Errorf("%w: %w (Debian: ca-certificates)", stage.ErrNotRun, err)
	}
	goroot, err := goEnv(ctx, "GOROOT")
	if err != nil {
		return err
	}
	cache := filepath.Join(s.Tmp, modules)
	if err := downloadModules(ctx, s, cache); err != nil {
		return err
	}
	env := []string{"ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local"}
	return e.Import(ctx, goImage, env, func(w *tar.Writer) error {
		if err := engine.Busybox(w, "sh"); err != nil {
			return err
		}
		for _, f := range []struct{ from, to string }{
			{certificates, strings.TrimPrefix(certificates, "/")},
			{filepath.Join(goroot, "VERSION"), "usr/local/go/VERSION"},
			{filepath.Join(goroot, "go.env"), "usr/local/go/go.env"},
			{filepath.Join(goroot, "bin"), "usr/local/go/bin"},
			{filepath.Join(goroot, "pkg"), "usr/local/go/pkg"},
			{filepath.Join(goroot, "src"), "usr/local/go/src"},
			{filepath.Join(cache, "cache", "download"), modules},
		} {
			if err := engine.WriteTree(w, f.from, f.to); err != nil {
				return err
			}
		}
		return nil
	})
}

// downloadModules fills a module cache with what the module needs.
func downloadModules(ctx context.Context, s *stage.Stage, cache string) error {
	have, err := goEnv(ctx, "GOMODCACHE")
	if err != nil {
		return err
	}
	proxy, err := goEnv(ctx, "GOPROXY")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-modcacherw")
	cmd.Dir = s.Root
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY=file://"+filepath.ToSlash(filepath.Join(have, "cache", "download"))+","+proxy)
	_, err = s.Log.Run(cmd)
	return err
}

func goEnv(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
