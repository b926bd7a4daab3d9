// Package s3payload handles messages whose body is an object in S3, as Amazon's
// SQS Extended Client Libraries for Java and Python send them, and sends such:
//
//	handler.Run(s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders-payloads"}})(batch.JSON(shipOrder)))
//
// Instead of a body that is too large for SQS, those libraries send a pointer to
// an object, and an attribute with the body's size. Both generations of them are
// known: software.amazon.payloadoffloading.PayloadS3Pointer with
// ExtendedPayloadSize, com.amazon.sqs.javamessaging.MessageS3Pointer with
// SQSLargePayloadSize. [Unwrap] gets the object within the record's deadline and
// hands its text on as the record's body, [Stream] lets a function read it, and
// a message with a body of its own is handed on as it is. [Sender] is the other
// side.
//
// The pointer makes a message: one without the attribute is followed too, since
// forwarding loses attributes; the attribute without a pointer is malformed.
//
// A pointer is what a sender says, and it is followed with the rights of this
// program. So only objects in [Config.Buckets] are read.
//
// These fail for good (see [batch.Permanent]), with the pointer in the dead-letter
// queue: a pointer to another bucket, or to an object or bucket that does not
// exist, an object that is larger than [Config.MaxBytes], and one of another size
// than the attribute says. A pointer that cannot be read is a
// [batch.MalformedError]. All else, such as throttling and denied access, is a
// failure that comes back. Without s3:ListBucket S3 denies access to an object
// that does not exist, instead of saying so. Errors name the bucket, S3's own may
// name the object; none has anything of what is in it.
//
// The role needs s3:GetObject on the buckets' objects, s3:ListBucket on the
// buckets to tell what is missing, and s3:DeleteObject for
// [Config.DeleteAfterSuccess].
//
// See "Managing large Amazon SQS messages using the Extended Client Library for
// Java and Amazon S3" in the Amazon SQS Developer Guide.
package s3payload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// MaxBytes is the default of [Config.MaxBytes], 16 MiB.
const MaxBytes = 16 << 20

// Config says which objects are read, and what becomes of them. Buckets must be
// set: the program that runs the handler says so at the start, or else the first
// record with a pointer, which is kept.
type Config struct {
	// Buckets are those from which objects are read, and no other: their names,
	// or ARNs of access points. "*" is any that the role may read, so that
	// anyone who can send to the queue chooses the object: nothing for a role that
	// may read, let alone delete, more than payloads.
	Buckets []string

	// MaxBytes is how large an object may be that [Unwrap] reads, at least 1;
	// so much memory times the records that are handled at a time. [Stream] keeps
	// nothing in memory and heeds it only if it is set. Defaults to 16 MiB.
	MaxBytes int64

	// IgnoreSize takes objects whatever size the attribute says, for senders
	// that count otherwise: a library for JavaScript adds the attributes'.
	// Defaults to false: an object of another size is not the one that was sent.
	IgnoreSize bool

	// DeleteAfterSuccess deletes the object when the function has returned nil
	// in time. That it could not be deleted is a warning and fails no record; a
	// lifecycle rule of the bucket is there for what is left. What handles the
	// record around Unwrap must not fail after that; and if SQS delivers a
	// message again that was handled, its object is missing, see IgnoreMissing.
	// Defaults to false.
	DeleteAfterSuccess bool

	// IgnoreMissing takes a record whose object does not exist for one that was
	// handled before: it is done, with a warning, and the function is not
	// called. A bucket that does not exist is none of that. Not for buckets whose
	// lifecycle rules may delete what was not handled yet. Defaults to false: it
	// goes to the dead-letter queue.
	IgnoreMissing bool

	// Client makes the calls. Defaults to one from the environment, made when
	// first needed, which puts the bucket into the path when AWS_ENDPOINT_URL or
	// AWS_ENDPOINT_URL_S3 names an endpoint.
	Client *s3.Client

	// Warnings is told what was not deleted and what was missing, once and then
	// at most each minute. Defaults to lines in slog.Default(), as package
	// telemetry/log writes them.
	Warnings batch.WarningHook
}

// store gets the objects of one configuration.
type store struct {
	cfg      Config
	max      int64 // 0: any size
	err      error // of the configuration
	client   func(context.Context) (*s3.Client, error)
	warnings warnings
}

func newStore(cfg Config, max int64) *store {
	cfg.Buckets = slices.Clone(cfg.Buckets)
	s := &store{cfg: cfg, max: cfg.MaxBytes, err: cfg.validate(), client: clientOf(cfg.Client)}
	if s.max == 0 {
		s.max = max
	}
	if s.warnings.hook = cfg.Warnings; s.warnings.hook == nil {
		s.warnings.hook = log.New(nil, log.Options{})
	}
	return s
}

func (c *Config) validate() error {
	switch {
	case len(c.Buckets) == 0:
		return fmt.Errorf(`s3payload: Config.Buckets is empty: name the buckets that pointers may lead to, or "*" for any`)
	case slices.ContainsFunc(c.Buckets, func(name string) bool { return strings.TrimSpace(name) != name || name == "" }):
		return fmt.Errorf("s3payload: Config.Buckets is %q: no name may be empty or have spaces around it", c.Buckets)
	case c.MaxBytes < 0:
		return fmt.Errorf("s3payload: Config.MaxBytes is %d, must be 1 or more (0 for the default)", c.MaxBytes)
	}
	return nil
}

func (s *store) mayRead(bucket string) bool {
	return slices.ContainsFunc(s.cfg.Buckets, func(name string) bool { return name == bucket || name == "*" })
}
