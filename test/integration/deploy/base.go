package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// What the image of the build stage is called, and where modules are in it.
const (
	goImage = "sqsbatch.example/golang:here"
	modules = "modules"
)

// certificates is where Debian has them, and with it the official Go image.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// importBase gives the engine an image that stands in for the official one of
// Go, which would have to be pulled: this machine's Go, certificates, a shell,
// and the modules that the build would download.
func importBase(ctx context.Context, e *engine, root, tmp string) error {
	busybox, err := look("busybox")
	if err != nil {
		return fmt.Errorf("%w: there is no busybox (Debian: busybox-static)", errNotRun)
	}
	if _, err := os.Stat(certificates); err != nil {
		return fmt.Errorf("%w: %w (Debian: ca-certificates)", errNotRun, err)
	}
	goroot, err := goEnv(ctx, "GOROOT")
	if err != nil {
		return err
	}
	cache := filepath.Join(tmp, modules)
	if err := downloadModules(ctx, root, cache); err != nil {
		return err
	}

	cmd := e.docker(ctx, "import", "--change", "ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local", "-", goImage)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		defer in.Close()
		w := tar.NewWriter(in)
		err := errors.Join(writeFile(w, busybox, "bin/sh"), w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}))
		for _, f := range []struct{ from, to string }{
			{certificates, strings.TrimPrefix(certificates, "/")},
			{filepath.Join(goroot, "VERSION"), "usr/local/go/VERSION"},
			{filepath.Join(goroot, "go.env"), "usr/local/go/go.env"},
			{filepath.Join(goroot, "bin"), "usr/local/go/bin"},
			{filepath.Join(goroot, "pkg"), "usr/local/go/pkg"},
			{filepath.Join(goroot, "src"), "usr/local/go/src"},
			{filepath.Join(cache, "cache", "download"), modules},
		} {
			if err == nil {
				err = writeTree(w, f.from, f.to)
			}
		}
		if err == nil {
			err = w.Close()
		}
		written <- err
	}()
	if err := run(cmd); err != nil {
		return err
	}
	return <-written
}

// downloadModules fills a module cache with what the module needs.
func downloadModules(ctx context.Context, root, cache string) error {
	have, err := goEnv(ctx, "GOMODCACHE")
	if err != nil {
		return err
	}
	proxy, err := goEnv(ctx, "GOPROXY")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-modcacherw")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY=file://"+filepath.ToSlash(filepath.Join(have, "cache", "download"))+","+proxy)
	return run(cmd)
}

func goEnv(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// writeTree writes a file, or a folder with all in it but tests.
func writeTree(w *tar.Writer, from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rest, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		return writeFile(w, name, path.Join(to, filepath.ToSlash(rest)))
	})
}

// writeFile writes what name is, or links to.
func writeFile(w *tar.Writer, name, to string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: to, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
