// Package s3body has bodies of messages that are stored in S3: the pointers to them, and a small
// client that reads one. The client links nothing of the SDK's package for S3, which took 21 of the
// 131 CPU-seconds of a cold build of the tool.
package s3body

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// The two generations of the libraries: the class with which a pointer begins, and the
// attribute with the size. Java's library writes the second class with either attribute.
const (
	pointerClass    = "software.amazon.payloadoffloading.PayloadS3Pointer"
	SizeAttribute   = "ExtendedPayloadSize"
	legacyClass     = "com.amazon.sqs.javamessaging.MessageS3Pointer"
	LegacyAttribute = "SQSLargePayloadSize"
)

// MaxKey is the largest length of an object's key ("Naming Amazon S3 objects" in the Amazon S3
// User Guide). Names of buckets and ARNs of access points are not longer than maxBucket.
const (
	MaxKey    = 1024
	maxBucket = 512
)

// Pointer is the location of a body in S3.
type Pointer struct {
	Bucket string `json:"s3BucketName"`
	Key    string `json:"s3Key"`
	Size   int64  `json:"-"` // from the attribute; -1 if there is none
}

// PointerOf reads a record's pointer. It returns false, very fast, for a record with its own
// body.
func PointerOf(r *batch.Record) (p Pointer, found bool, err error) {
	claim, claimed := ClaimOf(r.MessageAttributes)
	if !looksLikePointer(r.Body) {
		if claimed {
			return p, false, malformed("the attribute with the payload's size is set, but the body is not a pointer to S3", nil)
		}
		return p, false, nil
	}
	if p, err = Parse(r.Body); err != nil {
		return p, false, err
	}
	p.Size = -1
	if claimed {
		if p.Size, err = strconv.ParseInt(claim, 10, 64); err != nil || p.Size < 0 {
			return p, false, malformed("the attribute with the payload's size is not a number of bytes", err)
		}
	}
	return p, true, nil
}

// ClaimOf returns the attribute with the payload's size, of either generation.
func ClaimOf(attributes map[string]batch.MessageAttribute) (claim string, claimed bool) {
	a, claimed := attributes[SizeAttribute]
	if !claimed {
		a, claimed = attributes[LegacyAttribute]
	}
	return a.StringValue, claimed
}

// looksLikePointer reports whether body is an array that begins with one of the classes. No
// other body does so by chance.
func looksLikePointer(body string) bool {
	i := plainjson.SpaceEnd(body, 0)
	if i >= len(body) || body[i] != '[' {
		return false
	}
	rest, quoted := strings.CutPrefix(body[plainjson.SpaceEnd(body, i+1):], `"`)
	if !quoted {
		return false
	}
	class, _, _ := strings.Cut(rest[:min(len(rest), len(pointerClass)+1)], `"`)
	return class == pointerClass || class == legacyClass
}

// Parse reads a body that begins like a pointer, which [PointerOf] checks.
func Parse(body string) (p Pointer, err error) {
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(body), &parts); err != nil {
		return p, malformed("pointer to S3: "+jsonbody.Where(body, &parts), err)
	}
	if len(parts) != 2 {
		return p, malformed(fmt.Sprintf("pointer to S3: %d parts, must be 2", len(parts)), nil)
	}
	if err := json.Unmarshal(parts[1], &p); err != nil {
		return p, malformed("pointer to S3, in its second part: "+jsonbody.Where(string(parts[1]), &p), err)
	}
	switch {
	case p.Bucket == "":
		return p, malformed("pointer to S3: s3BucketName is missing", nil)
	case len(p.Bucket) > maxBucket:
		return p, malformed(fmt.Sprintf("pointer to S3: s3BucketName has %d bytes, more than any name has", len(p.Bucket)), nil)
	case p.Key == "":
		return p, malformed("pointer to S3: s3Key is missing", nil)
	case len(p.Key) > MaxKey:
		return p, malformed(fmt.Sprintf("pointer to S3: s3Key has %d bytes, S3 allows %d", len(p.Key), MaxKey), nil)
	case Leaves(p.Key):
		// A proxy that resolves ".." in the path could read an object of another bucket.
		return p, malformed(`pointer to S3: s3Key has a part ".."`, nil)
	}
	return p, nil
}

// Leaves reports whether key, as a path, leads to a place above its start.
func Leaves(key string) bool {
	return slices.Contains(strings.FieldsFunc(key, func(c rune) bool { return c == '/' || c == '\\' }), "..")
}

// Text returns the pointer as a message's body.
func (p Pointer) Text(legacy bool) string {
	class := pointerClass
	if legacy {
		class = legacyClass
	}
	b, _ := json.Marshal([]any{class, p}) // marshaling two strings cannot fail
	return string(b)
}

func malformed(reason string, err error) error {
	if err == nil {
		err = ErrPointer
	}
	return &batch.MalformedError{Reason: reason, Err: err}
}

var ErrPointer = errors.New("not a pointer to S3")
