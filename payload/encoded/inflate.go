package encoded

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
)

// inflater holds the buffers of a decompression, about 50 KB, which are reused.
type inflater struct {
	in    bytes.Reader // an io.ByteReader, so that nothing is read beyond the end of the data
	gzip  *gzip.Reader
	zlib  io.ReadCloser
	chunk [8 << 10]byte
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// inflate decompresses data into no more than max bytes.
func inflate(k coding, data []byte, max int) (string, *batch.MalformedError) {
	f := inflaters.Get().(*inflater)
	defer func() {
		f.in.Reset(nil)
		inflaters.Put(f)
	}()
	f.in.Reset(data)
	hint := 4 * len(data)
	var from io.Reader
	var err error
	if k == asGzip {
		if hint = sizeAtEnd(data, hint); hint > max {
			return "", tooLarge(max)
		}
		from, err = f.openGzip()
	} else {
		from, err = f.openZlib()
	}
	if err != nil {
		return "", damaged(k, err, true)
	}
	out := newBuilder(min(hint, max))
	for {
		n, err := from.Read(f.chunk[:])
		if out.Len()+n > max {
			return "", tooLarge(max)
		}
		if room := out.Cap(); out.Len()+n > room {
			larger := newBuilder(min(max, 2*room+len(f.chunk)))
			larger.WriteString(out.String())
			out = larger
		}
		out.Write(f.chunk[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", damaged(k, err, false)
		}
	}
	if f.in.Len() > 0 { // a gzip reader itself looks for further members
		return "", damaged(k, errTrailing, false)
	}
	return out.String(), nil
}

// newBuilder returns a builder with room for n bytes. A builder that grows would exceed the
// limit.
func newBuilder(n int) *strings.Builder {
	b := new(strings.Builder)
	b.Grow(n)
	return b
}

// sizeAtEnd reads gzip's last four bytes: the size of the last member, and so at least part
// of the total. A false value is limited to deflate's best ratio (1,032 : 1).
func sizeAtEnd(data []byte, otherwise int) int {
	if len(data) < 18 { // header and trailer
		return otherwise
	}
	size := int(binary.LittleEndian.Uint32(data[len(data)-4:]))
	if size/1032 > len(data) {
		return otherwise
	}
	return size
}

func (f *inflater) openGzip() (io.Reader, error) {
	if f.gzip == nil {
		f.gzip = new(gzip.Reader)
	}
	return f.gzip, f.gzip.Reset(&f.in)
}

func (f *inflater) openZlib() (io.Reader, error) {
	if f.zlib != nil {
		return f.zlib, f.zlib.(zlib.Resetter).Reset(&f.in, nil)
	}
	var err error
	f.zlib, err = zlib.NewReader(&f.in) // nil with an error
	return f.zlib, err
}

var errTrailing = errors.New("data after the end")

// damaged describes an error of a reader. opening tells an error in the header of the data
// from that of other data after it.
func damaged(k coding, err error, opening bool) *batch.MalformedError {
	name := names[k]
	reason := "the " + name + " data is damaged"
	corrupt, isCorrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case opening && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrDictionary)):
		reason = "it does not begin as " + name + " data does"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "the " + name + " data ends too early"
	case errors.Is(err, gzip.ErrHeader), err == errTrailing:
		reason = "there is other data after the " + name + " data"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrChecksum):
		reason = "the " + name + " data's checksum is wrong"
	case isCorrupt:
		reason += fmt.Sprintf(" at offset %d", int64(corrupt))
	}
	return &batch.MalformedError{Reason: reason, Err: err}
}
