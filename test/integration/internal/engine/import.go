package engine

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Import gives the engine an image with the files that write puts into it. The
// changes are lines of a Dockerfile, such as "ENV PATH=/bin".
func (e *Engine) Import(ctx context.Context, image string, changes []string, write func(*tar.Writer) error) (err error) {
	defer must.Return(&err)
	args := []string{"import"}
	for _, c := range changes {
		args = append(args, "--change", c)
	}
	cmd := e.Docker(ctx, append(args, "-", image)...)
	in := must.Get(cmd.StdinPipe())
	written := make(chan error, 1)
	go func() {
		w := tar.NewWriter(in)
		err := write(w)
		if err == nil {
			err = w.Close()
		}
		written <- errors.Join(err, in.Close())
	}()
	return errors.Join(stage.Run(cmd), <-written)
}

// Busybox writes Debian's static busybox as the only program, under these names.
func Busybox(w *tar.Writer, names ...string) (err error) {
	defer must.Return(&err)
	busybox, err := Look("busybox")
	if err != nil {
		return fmt.Errorf("%w: there is no busybox (Debian: busybox-static)", stage.ErrNotRun)
	}
	for _, name := range names {
		must.Do(WriteFile(w, busybox, "bin/"+name))
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777})
}

// WriteTree writes a file, or a folder with all in it but tests.
func WriteTree(w *tar.Writer, from, to string) error {
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
		return WriteFile(w, name, path.Join(to, filepath.ToSlash(rest)))
	})
}

// WriteFile writes what name is, or links to.
func WriteFile(w *tar.Writer, name, to string) (err error) {
	defer must.Return(&err)
	f := must.Get(os.Open(name))
	defer f.Close()
	info := must.Get(f.Stat())
	must.Do(w.WriteHeader(&tar.Header{Name: to, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}))
	must.Get(io.Copy(w, f))
	return nil
}
