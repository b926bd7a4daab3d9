package starter

import (
	"archive/zip"
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// serveArchive serves the checkout as a zip file, such as GitHub makes of a
// tag: everything is in one directory, which comes first.
func serveArchive(ctx context.Context, s *stage.Stage) (url string, closeServer func(), err error) {
	list, err := s.Files(ctx)
	if err != nil {
		return "", nil, err
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	if _, err := w.Create("sqsbatch-0.1.0/"); err != nil {
		return "", nil, err
	}
	for _, file := range list {
		content, err := os.ReadFile(filepath.Join(s.Root, file))
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
