// Package s3payload handles messages whose body is stored in S3, and stores bodies there.
// It is compatible with Amazon's SQS Extended Client Libraries for Java and Python.
//
//	handler.Run(s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders-payloads"}})(batch.JSON(shipOrder)))
//
// If a body is too large for SQS, those libraries store it in S3. The message then has a
// pointer to the object, and an attribute with the body's size. Both generations of
// pointers are supported: software.amazon.payloadoffloading.PayloadS3Pointer with
// ExtendedPayloadSize, and com.amazon.sqs.javamessaging.MessageS3Pointer with
// SQSLargePayloadSize.
//
// [Unwrap] gets the object within the record's deadline and passes its text on as the
// record's body. [Stream] passes it to a function as a stream. Both pass on a message with its
// own body. [Uploader] is for senders.
//
// A body that is a pointer is followed even without the attribute, since forwarding a
// message may lose attributes. A message with the attribute but without a pointer is
// malformed.
//
// A sender can put any location into a pointer, which is read with the permissions of this
// program. Therefore only objects in [Config.Buckets] are read, and, if [Config.Prefixes] is
// set, only keys that begin with one of the prefixes.
//
// These records fail for good (see [batch.Permanent]), with the pointer in the dead-letter
// queue:
//
//   - the pointer leads to another bucket, to a key without one of the prefixes, or to an
//     object or bucket that does not exist;
//   - the object is larger than [Config.MaxBytes], or its size differs from the attribute.
//
// A pointer that cannot be read is a [batch.MalformedError]. Any other error, such as
// throttling or denied access, is an ordinary failure. If the role does not have the permission
// s3:ListBucket, S3 reports a missing object as denied access. Errors name buckets of the
// configuration only; errors of S3 may name the object. No error contains data of the object.
//
// The role needs s3:GetObject on the buckets' objects, s3:ListBucket on the buckets to
// recognize missing objects, and s3:DeleteObject for [Config.DeleteAfterSuccess].
//
// See "Managing large Amazon SQS messages using the Extended Client Library for Java and
// Amazon S3" in the Amazon SQS Developer Guide.
package s3payload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// MaxBytes is the default of [Config.MaxBytes], 16 MiB.
const MaxBytes = 16 << 20

// Config configures [Unwrap] and [Stream]. Buckets is required. The program that runs the
// handler reports an invalid Config at the start. Otherwise records with a pointer fail.
type Config struct {
	// Buckets are the buckets from which objects may be read: their names, or ARNs of
	// access points. "*" allows every bucket that the role may read. Anyone who can send to
	// the queue then chooses the object, so do not use "*" with a role that may read, or
	// even delete, more than payloads.
	Buckets []string

	// Prefixes are the allowed beginnings of keys, such as the Prefix of the sender's
	// [Uploader]. Anyone who can send to the queue chooses the key, so set a prefix if the
	// buckets have other objects. Defaults to any key. Required for DeleteAfterSuccess, where
	// "" allows any key.
	Prefixes []string

	// MaxBytes is the largest size of an object that [Unwrap] reads, at least 1. Each record
	// in flight may take that much memory. [Stream] keeps nothing in memory, and has no limit
	// by default. Defaults to 16 MiB.
	MaxBytes int64

	// IgnoreSize accepts objects whose size differs from the attribute, for senders that count
	// differently: a library for JavaScript adds the size of the attributes. Defaults to
	// false: an object of another size is not the body that was sent.
	IgnoreSize bool

	// DeleteAfterSuccess deletes the object when the function has returned nil in time. A
	// failure to delete is a warning, and the record still succeeds. Set a lifecycle rule in
	// the bucket for such objects. Defaults to false.
	//
	// Middleware around Unwrap must not fail after the object was deleted. If SQS delivers
	// a handled message again, its object is missing; see IgnoreMissing.
	DeleteAfterSuccess bool

	// IgnoreMissing treats a record whose object does not exist as handled before: the record
	// is done, with a warning, and the function is not called. It has no effect if the bucket
	// does not exist. Do not set it if a lifecycle rule of the bucket may delete objects that
	// were not handled yet. Defaults to false: such a record goes to the dead-letter queue.
	IgnoreMissing bool

	// Client makes the calls. Defaults to a client configured by the environment, which is
	// made at the first call. That client puts the bucket into the path if AWS_ENDPOINT_URL or
	// AWS_ENDPOINT_URL_S3 is set.
	Client *s3.Client

	// Warned is called if an object could not be deleted or was missing: the first time, and
	// then at most once a minute. Defaults to lines in slog.Default(), in the format of
	// package telemetry/log.
	Warned func(ctx context.Context, w batch.Warning)
}

// store gets the objects of one configuration.
type store struct {
	cfg      Config
	max      int64 // 0 means any size
	err      error // of the configuration
	client   func(context.Context) (*s3.Client, error)
	warnings warnings
}

func newStore(cfg Config, max int64) *store {
	cfg.Buckets, cfg.Prefixes = slices.Clone(cfg.Buckets), slices.Clone(cfg.Prefixes)
	s := &store{cfg: cfg, max: cmp.Or(cfg.MaxBytes, max), err: cfg.validate(), client: clientOf(cfg.Client)}
	if s.warnings.hook = cfg.Warned; s.warnings.hook == nil {
		s.warnings.hook = log.New(nil, log.Config{}).Warned
	}
	return s
}

func (c *Config) validate() error {
	switch {
	case len(c.Buckets) == 0:
		return fmt.Errorf(`s3payload: Config.Buckets is empty: name the buckets that pointers may lead to, or "*" for any`)
	case slices.ContainsFunc(c.Buckets, func(name string) bool { return strings.TrimSpace(name) != name || name == "" }):
		return fmt.Errorf("s3payload: Config.Buckets is %q: no name may be empty or have spaces around it", c.Buckets)
	case c.DeleteAfterSuccess && len(c.Prefixes) == 0:
		return errors.New(`s3payload: Config.DeleteAfterSuccess needs Config.Prefixes, since senders choose which object is deleted: name what the keys of payloads begin with, or "" for any key`)
	case c.MaxBytes < 0:
		return fmt.Errorf("s3payload: Config.MaxBytes is %d, must be 1 or more (0 for the default)", c.MaxBytes)
	}
	return nil
}

// refused returns why the configuration does not allow to read an object, without the sender's
// text, or nil.
func (s *store) refused(p s3body.Pointer) error {
	begins := func(prefix string) bool { return strings.HasPrefix(p.Key, prefix) }
	switch {
	case !slices.ContainsFunc(s.cfg.Buckets, func(name string) bool { return name == p.Bucket || name == "*" }):
		return errors.New("s3payload: the pointer leads to a bucket that is not in Config.Buckets")
	case len(s.cfg.Prefixes) > 0 && !slices.ContainsFunc(s.cfg.Prefixes, begins):
		return errors.New("s3payload: the pointer leads to a key that begins with none of Config.Prefixes")
	}
	return nil
}
