package starter

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// serveArchive serves the checkout as a zip file, such as GitHub makes of a
// tag: everything is in one directory, which comes first.
func serveArchive(ctx context.Context, root string) (url string, closeServer func(), err error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return "", nil, fmt.Errorf("git ls-files: %w", err)
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	if _, err := w.Create("sqsbatch-0.1.0/"); err != nil {
		return "", nil, err
	}
	for _, file := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return "", nil, err
		}
		entry, err := w.Create("sqsbatch-0.1.0/" + file)
		if err != nil {
			return "", nil, err
		}
		if _, err := entry.Write(content); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(archive.Bytes())
	})}
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String() + "/sqsbatch-0.1.0.zip", func() { _ = server.Close() }, nil
}

// sameFiles compares two trees, byte for byte.
func sameFiles(a, b string) error {
	left, err := files(a)
	if err != nil {
		return err
	}
	right, err := files(b)
	if err != nil {
		return err
	}
	for name, content := range left {
		if other, ok := right[name]; !ok || other != content {
			return fmt.Errorf("%s differs", name)
		}
	}
	if len(left) == 0 || len(left) != len(right) {
		return fmt.Errorf("%d and %d files", len(left), len(right))
	}
	return nil
}

func files(dir string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found[name] = string(content)
		return err
	})
	return found, err
}
