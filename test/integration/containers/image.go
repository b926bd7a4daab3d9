package containers

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/elfcheck"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/engine"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const image = "sqsbatch.example/orders:here"

// checkImage builds the image as the Dockerfile says, looks into it, and runs it.
func checkImage(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	e := must.Get(engine.Start(ctx, filepath.Join(s.Tmp, "engine"), engine.Options{}))
	defer func() { err = errors.Join(err, e.Stop()) }()
	begin := time.Now()
	if err := importBase(ctx, e, s); err != nil {
		return fmt.Errorf("an image with Go: %w", err)
	}
	fmt.Printf("an image with this machine's Go: %.1f s\n", time.Since(begin).Seconds())

	begin = time.Now()
	must.Get(s.Log.Run(e.Docker(ctx, "build", "--progress=plain", "--network=none", "--build-arg", "GO_IMAGE="+goImage,
		"--build-arg", "GOPROXY=file:///"+modules, "--tag", image, s.Root)))
	fmt.Printf("docker build: %.1f s\n", time.Since(begin).Seconds())
	if err := errors.Join(checkConfig(ctx, e), checkFiles(ctx, e)); err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	return checkRuns(ctx, e, s.Root)
}

func checkConfig(ctx context.Context, e *engine.Engine) (err error) {
	defer must.Return(&err)
	out := must.Get(e.Output(ctx, "image", "inspect", image))
	var all []struct {
		Config struct {
			User, StopSignal string
			Entrypoint, Cmd  []string
		}
	}
	must.Do(json.Unmarshal([]byte(out), &all))
	c := all[0].Config
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" || !slices.Equal(c.Entrypoint, []string{"/app"}) || len(c.Cmd) > 0 {
		return fmt.Errorf("is run as %+v", c)
	}
	return nil
}

// checkFiles wants static programs and certificates, and nothing else.
func checkFiles(ctx context.Context, e *engine.Engine) (err error) {
	defer must.Return(&err)
	id := must.Get(e.Output(ctx, "create", "--network=none", image))
	archive, err := e.Docker(ctx, "export", id).Output()
	if err != nil {
		return fmt.Errorf("docker export: %w", err)
	}
	must.Get(e.Output(ctx, "rm", id))
	var names []string
	var size int64
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must.Do(err)
		// What is empty is where the engine mounts something of its own.
		if h.Typeflag != tar.TypeReg || h.Size == 0 {
			continue
		}
		names, size = append(names, h.Name), size+h.Size
		if h.Name == "app" || h.Name == "livez" {
			program, err := io.ReadAll(r)
			if err == nil {
				err = elfcheck.Check(bytes.NewReader(program), runtime.GOARCH)
			}
			if err != nil {
				return fmt.Errorf("/%s %w", h.Name, err)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"app", "etc/ssl/certs/ca-certificates.crt", "livez"}; !slices.Equal(names, want) {
		return fmt.Errorf("has %v, want %v", names, want)
	}
	fmt.Printf("the image has static programs and certificates, %.1f MB\n", float64(size)/1e6)
	return nil
}

// What the image of the build stage is called, and where modules are in it.
const (
	goImage = "sqsbatch.example/golang:here"
	modules = "modules"
)

// certificates is where Debian has them, and with it the official Go image.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// importBase gives the engine an image for the official one of Go: this machine's
// Go, certificates, a shell, and the modules of the build.
func importBase(ctx context.Context, e *engine.Engine, s *stage.Stage) (err error) {
	defer must.Return(&err)
	if _, err := os.Stat(certificates); err != nil {
		return fmt.Errorf("%w: %w (Debian: ca-certificates)", stage.ErrNotRun, err)
	}
	goroot := goEnv(ctx, "GOROOT")
	cache := filepath.Join(s.Tmp, modules)
	downloadModules(ctx, s, cache)
	env := []string{"ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local"}
	return e.Import(ctx, goImage, env, func(w *tar.Writer) (err error) {
		defer must.Return(&err)
		must.Do(engine.Busybox(w, "sh"))
		for from, to := range map[string]string{
			certificates:                           strings.TrimPrefix(certificates, "/"),
			filepath.Join(goroot, "VERSION"):       "usr/local/go/VERSION",
			filepath.Join(goroot, "go.env"):        "usr/local/go/go.env",
			filepath.Join(goroot, "bin"):           "usr/local/go/bin",
			filepath.Join(goroot, "pkg"):           "usr/local/go/pkg",
			filepath.Join(goroot, "src"):           "usr/local/go/src",
			filepath.Join(cache, "cache/download"): modules,
		} {
			must.Do(engine.WriteTree(w, from, to))
		}
		return nil
	})
}

// downloadModules fills a module cache with what the module needs.
func downloadModules(ctx context.Context, s *stage.Stage, cache string) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-modcacherw")
	cmd.Dir = s.Root
	here := filepath.ToSlash(filepath.Join(goEnv(ctx, "GOMODCACHE"), "cache", "download"))
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY=file://"+here+","+goEnv(ctx, "GOPROXY"))
	must.Get(s.Log.Run(cmd))
}

func goEnv(ctx context.Context, name string) string {
	out, err := exec.CommandContext(ctx, "go", "env", name).CombinedOutput()
	if err != nil {
		must.Failf("go env %s: %w\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}
