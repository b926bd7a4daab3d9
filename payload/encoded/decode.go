package encoded

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/base64text"
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

// maxCodings limits the work that a body can cause. Senders usually compress once, and use
// base64.
const maxCodings = 4

// codings are the codings of a body, in the order in which they were applied.
type codings struct {
	list [maxCodings + 1]coding // one more for base64 that is not named
	n    int
}

// parse reads the attribute's value. unknown is the part that it does not know.
func parse(value string) (c codings, unknown string) {
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		k, known := byName[strings.ToLower(name)]
		switch {
		case !known:
			return c, name
		case k == asIs:
			continue
		case c.n == maxCodings:
			return c, value
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
// No step may make more than max bytes, except the first, whose result is smaller than the
// body. Each step has the limit, not only the result: two compressions of a body of 1 MB
// could otherwise take minutes in between.
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

// maxScratch is the largest buffer that is kept. Larger ones are rarely needed.
const maxScratch = 256 << 10

// fromBase64 returns what use makes of the decoded body.
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
	return &batch.MalformedError{Reason: fmt.Sprintf("it is larger than %d bytes when it is decoded (MaxBytes)", max)}
}
