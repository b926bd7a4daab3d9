package s3payload

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
	"github.com/sqsbatch/sqsbatch/sender"
)

const (
	// Threshold is the default of [UploaderConfig.Threshold], 256 KiB.
	Threshold = 256 << 10
	// maxMessage is SQS's limit for the size of a message, and maxAttributes for the number of
	// attributes ("Amazon SQS message quotas" in the Amazon SQS Developer Guide).
	maxMessage    = 1 << 20
	maxAttributes = 10
	// maxPrefix leaves room for the id in a key.
	maxPrefix = s3body.MaxKey - 26
)

// UploaderConfig configures [NewUploader]. Bucket is required.
type UploaderConfig struct {
	// Bucket is the bucket for bodies.
	Bucket string

	// Prefix is the beginning of the objects' keys, before a random id, up to 998 bytes.
	// Defaults to none.
	Prefix string

	// Threshold is the largest size of a message, body and attributes, that is sent without
	// S3, 1 to 1,048,576 bytes. It must not exceed the queue's MaximumMessageSize. Defaults
	// to 262,144, as in Amazon's libraries.
	Threshold int

	// Always stores every body in S3. Defaults to false.
	Always bool

	// Legacy writes the pointer and the attribute of the first generation, for receivers
	// with an older library. Defaults to false.
	Legacy bool

	// Put changes the input of each upload: a KMS key, a storage class, tags. Defaults to
	// none; the bucket's own encryption applies.
	Put func(*s3.PutObjectInput)

	// Client makes the calls. Defaults to a client configured by the environment, as in
	// [Config].
	Client *s3.Client
}

func (c *UploaderConfig) validate() error {
	switch {
	case strings.TrimSpace(c.Bucket) != c.Bucket || c.Bucket == "":
		return fmt.Errorf("s3payload: UploaderConfig.Bucket is %q: name the bucket for payloads", c.Bucket)
	case len(c.Prefix) > maxPrefix || s3body.Leaves(c.Prefix) || !utf8.ValidString(c.Prefix):
		return fmt.Errorf(`s3payload: UploaderConfig.Prefix is %.60q, must be up to %d bytes of UTF-8 without a part ".."`, c.Prefix, maxPrefix)
	case c.Threshold < 0 || c.Threshold > maxMessage:
		return fmt.Errorf("s3payload: UploaderConfig.Threshold is %d, must be 1 to %d (0 for the default)", c.Threshold, maxMessage)
	}
	return nil
}

// Uploader stores bodies that are too large for SQS in S3, for [Unwrap] and for Amazon's
// libraries. It is safe for concurrent use.
//
// A body stays in S3 if its message is then not sent, or is not handled. Give the bucket a
// lifecycle rule that is longer than the retention of the queue and of its dead-letter
// queue.
type Uploader struct {
	cfg    UploaderConfig
	client func(context.Context) (*s3.Client, error)
}

// NewUploader returns an Uploader. Its error names an invalid field of cfg.
func NewUploader(cfg UploaderConfig) (*Uploader, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Threshold = cmp.Or(cfg.Threshold, Threshold)
	return &Uploader{cfg: cfg, client: clientOf(cfg.Client)}, nil
}

// Prepare is for sender.Config.Prepare, for bodies of up to 5 GiB. If the message is larger
// than UploaderConfig.Threshold, it stores the body in S3 and replaces it by a pointer. It
// adds an attribute with the size of the body.
//
// It returns an error, and stores nothing, if a message for S3 has an attribute of the
// libraries, or has ten attributes, so that there is no room for the size.
//
// A group of a FIFO queue waits until the body of its next message is stored. Other groups do
// not wait. Deduplication by content uses the body, not the pointer, see
// sender.Config.ContentBasedDeduplication.
func (u *Uploader) Prepare(ctx context.Context, m *sender.Message) error {
	if !u.cfg.Always && sizeOf(m) <= u.cfg.Threshold {
		return nil
	}
	for _, name := range []string{s3body.SizeAttribute, s3body.LegacyAttribute} {
		if _, there := m.Attributes[name]; there {
			return fmt.Errorf("s3payload: the message has the attribute %s, which is for bodies that are in S3 already", name)
		}
	}
	name := s3body.SizeAttribute
	if u.cfg.Legacy {
		name = s3body.LegacyAttribute
	}
	if n := len(m.Attributes); n >= maxAttributes {
		return fmt.Errorf("s3payload: the message has %d attributes and SQS allows %d: no room for %s, which a body in S3 needs", n, maxAttributes, name)
	}
	pointer, err := u.put(ctx, m.Body)
	if err != nil {
		return err
	}
	attributes := make(map[string]batch.MessageAttribute, len(m.Attributes)+1)
	maps.Copy(attributes, m.Attributes)
	attributes[name] = batch.MessageAttribute{DataType: "Number", StringValue: strconv.Itoa(len(m.Body))}
	m.Body, m.Attributes = pointer, attributes
	return nil
}

// sizeOf returns the size of a message as counted by SQS.
func sizeOf(m *sender.Message) int {
	n := len(m.Body)
	for name, a := range m.Attributes {
		n += len(name) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
	}
	return n
}

// put stores a body in S3, and returns the pointer to it.
func (u *Uploader) put(ctx context.Context, body string) (string, error) {
	client, err := u.client(ctx)
	if err != nil {
		return "", err
	}
	p := s3body.Pointer{Bucket: u.cfg.Bucket, Key: u.cfg.Prefix + rand.Text()}
	in := &s3.PutObjectInput{Bucket: &p.Bucket, Key: &p.Key, Body: strings.NewReader(body)}
	if u.cfg.Put != nil {
		u.cfg.Put(in)
	}
	p.Bucket, p.Key = aws.ToString(in.Bucket), aws.ToString(in.Key)
	text := p.Text(u.cfg.Legacy)
	if read, err := s3body.Parse(text); err != nil || read != p {
		return "", fmt.Errorf("s3payload: UploaderConfig.Put made the bucket %.63q and the key %.63q, which no pointer leads to: %w", p.Bucket, p.Key, errors.Join(s3body.ErrPointer, err))
	}
	if _, err := client.PutObject(ctx, in); err != nil {
		return "", fmt.Errorf("s3payload: put the body into bucket %q: %w", p.Bucket, err)
	}
	return text, nil
}
