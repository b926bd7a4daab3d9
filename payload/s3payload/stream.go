package s3payload

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
)

// Object is a body that can be read as a stream.
type Object struct {
	// Body is the text, from S3 or from the message. Read returns an error if the connection
	// breaks or the record's context ends. The record has failed then, whatever the function
	// returns, and comes back as a whole. Do not read Body after the function has returned.
	Body io.Reader
	// Size is the number of bytes in Body.
	Size int64
	// Bucket and Key name the object. They are empty for a body in the message.
	Bucket, Key string
}

// Stream returns a handler that passes the body to fn as a stream, so that it is never in
// memory as a whole. If the message has its own body, fn reads that one.
//
// Everything else is as for [Unwrap], except that [Config.MaxBytes] has no default. The
// record of [batch.RecordFrom] does not have the attribute with the size, and has no body if
// the body is in S3.
//
// Stream returns nil if fn is nil.
func Stream(fn func(ctx context.Context, o Object) error, cfg Config) batch.Handler {
	if fn == nil {
		return nil
	}
	return &streamer{store: newStore(cfg, 0), fn: fn}
}

type streamer struct {
	store *store
	fn    func(context.Context, Object) error
}

// Validate reports an invalid configuration.
func (s *streamer) Validate() error { return s.store.err }

// Handle calls the function with a reader of the body.
func (s *streamer) Handle(ctx context.Context, r batch.Record) error {
	p, found, err := s3body.PointerOf(&r)
	if err != nil {
		return err
	}
	if !found {
		return s.fn(ctx, Object{Body: strings.NewReader(r.Body), Size: int64(len(r.Body))})
	}
	o, err := s.store.open(ctx, p)
	if err == nil && o.size < 0 {
		_ = o.Close()
		err = errNoSize
	}
	if err != nil {
		return s.store.failed(ctx, r.MessageID, err)
	}
	defer o.Close()
	r = withoutPointer(r)
	r.Body = ""
	body := &reader{from: o, pointer: p}
	if err := s.fn(batch.WithRecord(ctx, r), Object{Body: body, Size: o.size, Bucket: p.Bucket, Key: p.Key}); err != nil {
		return err
	}
	if body.err != nil {
		return body.err
	}
	s.store.succeeded(ctx, r.MessageID, p)
	return nil
}

var errNoSize = errors.New("s3payload: the answer of S3 has no size of the object")

// reader keeps the error with which reading failed, since the record must fail even if the
// function takes the error for the end.
type reader struct {
	from    io.Reader
	pointer s3body.Pointer
	err     error
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && err != io.EOF {
		r.err = getError(r.pointer, err)
		err = r.err
	}
	return n, err
}
