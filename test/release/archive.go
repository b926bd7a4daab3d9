package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// member is a file of an archive.
type member struct {
	Name string // in the archive
	Path string
	Mode fs.FileMode
}

// writeArchive writes a zip or a tar.gz, as the path ends. The same files and time give
// the same bytes: nothing in it depends on the machine, the user or the day.
func writeArchive(path string, files []member, when time.Time) (err error) {
	defer must.Return(&err)
	out := must.Get(os.Create(path))
	defer func() { err = errors.Join(err, out.Close()) }()
	if strings.HasSuffix(path, ".zip") {
		writeZip(out, files, when)
	} else {
		writeTar(out, files, when)
	}
	return nil
}

func writeZip(out io.Writer, files []member, when time.Time) {
	z := zip.NewWriter(out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: when}
		header.SetMode(f.Mode)
		w := must.Get(z.CreateHeader(header))
		must.Get(w.Write(must.Get(os.ReadFile(f.Path))))
	}
	must.Do(z.Close())
}

func writeTar(out io.Writer, files []member, when time.Time) {
	compressed := gzip.NewWriter(out)
	t := tar.NewWriter(compressed)
	for _, f := range files {
		content := must.Get(os.ReadFile(f.Path))
		must.Do(t.WriteHeader(&tar.Header{Name: f.Name, Size: int64(len(content)), Mode: int64(f.Mode), ModTime: when, Uname: "root", Gname: "root"}))
		must.Get(t.Write(content))
	}
	must.Do(errors.Join(t.Close(), compressed.Close()))
}
