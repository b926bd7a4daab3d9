package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
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
// the same bytes: nothing in it tells of the machine, the user or the day.
func writeArchive(path string, files []member, when time.Time) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	if strings.HasSuffix(path, ".zip") {
		return writeZip(out, files, when)
	}
	return writeTar(out, files, when)
}

func writeZip(out io.Writer, files []member, when time.Time) (err error) {
	defer must.Return(&err)
	z := zip.NewWriter(out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: when}
		header.SetMode(f.Mode)
		w := must.Get(z.CreateHeader(header))
		must.Do(copyFrom(w, f.Path))
	}
	return z.Close()
}

func writeTar(out io.Writer, files []member, when time.Time) (err error) {
	defer must.Return(&err)
	compressed := gzip.NewWriter(out)
	t := tar.NewWriter(compressed)
	for _, f := range files {
		info := must.Get(os.Stat(f.Path))
		header := &tar.Header{Name: f.Name, Size: info.Size(), Mode: int64(f.Mode), ModTime: when, Uname: "root", Gname: "root"}
		must.Do(t.WriteHeader(header))
		must.Do(copyFrom(t, f.Path))
	}
	must.Do(t.Close())
	return compressed.Close()
}

func copyFrom(w io.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
