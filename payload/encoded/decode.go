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
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	base64text "github.com/sqsbatch/sqsbatch/payload/internal"
)

type coding byte

const (
	asIs coding = iota
	asBase64
	asGzip
	asDeflate
)

var (
	names  = [...]string{asBase64: "base64", asGzip: "gzip", asDeflate: "deflate"}
	byName = map[string]coding{
		"": asIs, "identity": asIs, // HTTP uses both for no coding
		"gzip": asGzip, "x-gzip": asGzip, "deflate": asDeflate, "base64": asBase64,
	}
)

// maxCodings limits the work for a body. Senders usually compress once, and use base64.
const maxCodings = 4

// codings are the codings of a body, in the order in which they were applied.
type codings struct {
	list [maxCodings + 1]coding // one more for implied base64
	n    int
}

// other are known codings that this package does not decode. An error names them, and no other
// text of the attribute, which is the sender's.
var other = []string{"br", "zstd", "compress", "snappy", "lz4"}

// parse reads the value of the attribute. It leaves out codings without effect, and adds
// base64 after a compression. problem is the reason why the value cannot be used, or "".
func parse(value string) (c codings, problem string) {
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		k, known := byName[strings.ToLower(name)]
		switch {
		case !known:
			if name = strings.ToLower(name); slices.Contains(other, name) {
				return c, fmt.Sprintf("coding %q is unknown", name)
			}
			return c, "a coding is unknown"
		case k == asIs:
			continue
		case c.n == maxCodings:
			return c, fmt.Sprintf("more than %d codings", maxCodings)
		}
		c.list[c.n] = k
		c.n++
	}
	if c.n > 0 && c.list[c.n-1] != asBase64 {
		c.list[c.n] = asBase64
		c.n++
	}
	return c, ""
}

// decode undoes the codings, the last one first. The error quotes nothing of the body.
//
// The result of each step is limited to max bytes, not only the last: two compressions of a
// body of 1 MB could otherwise take minutes.
func (c codings) decode(body string, max int) (decoded string, bad *batch.MalformedError) {
	for c.n--; c.n >= 0; c.n-- {
		switch k := c.list[c.n]; {
		case k != asBase64:
			body, bad = inflate(k, []byte(body), max)
		case c.n > 0 && c.list[c.n-1] != asBase64:
			c.n--
			body, bad = fromBase64(body, func(data []byte) (string, *batch.MalformedError) { return inflate(c.list[c.n], data, max) })
		default:
			body, bad = fromBase64(body, func(data []byte) (string, *batch.MalformedError) { return string(data), nil })
		}
		if bad == nil && len(body) > max {
			bad = tooLarge(max)
		}
		if bad != nil {
			return "", bad
		}
	}
	return body, nil
}

// scratch holds buffers for decoded base64, before it is copied or decompressed.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the largest buffer in scratch. Larger ones are rarely needed.
const maxScratch = 256 << 10

// fromBase64 decodes a body and returns the result of use, which must not keep data.
func fromBase64(body string, use func(data []byte) (string, *batch.MalformedError)) (string, *batch.MalformedError) {
	b := scratch.Get().(*[]byte)
	defer func() {
		if cap(*b) <= maxScratch {
			scratch.Put(b)
		}
	}()
	data, err := base64text.Append((*b)[:0], body)
	*b = data
	if err != nil {
		return "", &batch.MalformedError{Reason: err.Error(), Err: err}
	}
	return use(data)
}

func tooLarge(max int) *batch.MalformedError {
	return &batch.MalformedError{Reason: fmt.Sprintf("the decoded body is larger than %d bytes (MaxBytes)", max)}
}

// inflater holds the buffers of a decompression, about 50 KB, which are reused.
type inflater struct {
	in    bytes.Reader // an io.ByteReader, so that decoders do not read beyond the end of the data
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
	if f.in.Len() > 0 { // a gzip reader reads further members as well
		return "", damaged(k, errTrailing, false)
	}
	return out.String(), nil
}

// newBuilder returns a builder with room for n bytes. A builder that grows by itself would
// exceed the limit.
func newBuilder(n int) *strings.Builder {
	b := new(strings.Builder)
	b.Grow(n)
	return b
}

// sizeAtEnd returns the size in gzip's last four bytes, that of the last member, so a lower
// bound of the total. It ignores values beyond deflate's best ratio (1,032 : 1).
func sizeAtEnd(data []byte, otherwise int) int {
	if len(data) < 18 { // header and trailer
		return otherwise
	}
	size := int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
	if size/1032 > int64(len(data)) {
		return otherwise
	}
	return int(min(size, math.MaxInt32)) // int may have 32 bits
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

// damaged describes an error of a reader. opening is true for the header at the beginning,
// false for data after it.
func damaged(k coding, err error, opening bool) *batch.MalformedError {
	name := names[k]
	reason := "the " + name + " data is damaged"
	corrupt, isCorrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case opening && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrDictionary)):
		reason = "the data has no valid " + name + " header"
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
