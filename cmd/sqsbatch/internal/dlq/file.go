package dlq

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

// A file takes messages, a line each. It is compressed if its name ends in .gz.
type file struct {
	mu   sync.Mutex
	line []byte
	buf  *bufio.Writer
	gz   *gzip.Writer // nil without compression
	f    syncer       // nil for standard output
	n    int
}

// A syncer is an *os.File.
type syncer interface {
	io.WriteCloser
	Sync() error
}

// createFile makes a file; "" and "-" are standard output. It does not replace a file.
func createFile(path string, stdout io.Writer) (*file, error) {
	if path == "" || path == "-" {
		return &file{buf: bufio.NewWriter(stdout)}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s exists already; name another file", path)
	}
	if err != nil {
		return nil, err
	}
	return newFile(f, strings.HasSuffix(path, ".gz")), nil
}

func newFile(f syncer, compressed bool) *file {
	if !compressed {
		return &file{f: f, buf: bufio.NewWriterSize(f, 64<<10)}
	}
	gz := gzip.NewWriter(f)
	return &file{f: f, gz: gz, buf: bufio.NewWriterSize(gz, 64<<10)}
}

// syncFolder writes a new file's name to the disk, where the system can do so.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) { // some network file systems
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// save writes messages to the disk, so that they are in the file before they are deleted.
func (f *file) save(letters []*letter.Letter) error {
	if err := f.write(letters); err != nil || f.f == nil {
		return err
	}
	return f.f.Sync()
}

// write writes messages, and hands them to the operating system.
func (f *file) write(letters []*letter.Letter) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range letters {
		f.line = append(l.AppendJSON(f.line[:0]), '\n')
		if _, err := f.buf.Write(f.line); err != nil {
			return err
		}
		f.n++
	}
	err := f.buf.Flush()
	if f.gz != nil {
		err = cmp.Or(err, f.gz.Flush())
	}
	return err
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.buf.Flush()
	if f.gz != nil {
		err = cmp.Or(err, f.gz.Close())
	}
	if f.f != nil {
		err = cmp.Or(err, f.f.Sync())
		err = cmp.Or(err, f.f.Close())
	}
	return err
}

// openFile opens a file of messages; "-" is standard input. It may be compressed, whatever
// its name is.
func openFile(path string, stdin io.Reader) (r io.Reader, closeFile func() error, err error) {
	in, closeFile := stdin, func() error { return nil }
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		in, closeFile = f, f.Close
	}
	buf := bufio.NewReaderSize(in, 64<<10)
	if magic, err := buf.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		if r, err = gzip.NewReader(buf); err != nil {
			_ = closeFile()
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		return r, closeFile, nil
	}
	return buf, closeFile, nil
}
