package s3payload

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	// Threshold is the default of [SenderConfig.Threshold], 256 KiB.
	Threshold = 256 << 10
	// maxMessage is SQS's limit for a message and for a batch of messages; maxAttributes is
	// its limit for the attributes of one ("Amazon SQS message quotas" in the Amazon SQS
	// Developer Guide).
	maxMessage    = 1 << 20
	maxAttributes = 10
	// maxPrefix leaves room for the id in a key.
	maxPrefix = maxKey - 36
)

// SenderConfig configures which bodies are stored in S3, and where. Bucket is required.
type SenderConfig struct {
	// Bucket is where bodies are stored.
	Bucket string

	// Prefix is put before the random id in the objects' keys, up to 988 bytes. Defaults to
	// none.
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

	// Put changes an upload before it is made: a KMS key, a storage class, tags. Defaults
	// to none; the bucket's own encryption applies.
	Put func(*s3.PutObjectInput)

	// SQS and S3 make the calls. They default to clients configured by the environment.
	SQS *sqs.Client
	S3  *s3.Client
}

func (c *SenderConfig) validate() error {
	switch {
	case strings.TrimSpace(c.Bucket) != c.Bucket || c.Bucket == "":
		return fmt.Errorf("s3payload: SenderConfig.Bucket is %q: name the bucket for payloads", c.Bucket)
	case len(c.Prefix) > maxPrefix || leaves(c.Prefix) || !utf8.ValidString(c.Prefix):
		return fmt.Errorf(`s3payload: SenderConfig.Prefix is %.60q, must be up to %d bytes of UTF-8 without a part ".."`, c.Prefix, maxPrefix)
	case c.Threshold < 0 || c.Threshold > maxMessage:
		return fmt.Errorf("s3payload: SenderConfig.Threshold is %d, must be 1 to %d (0 for the default)", c.Threshold, maxMessage)
	}
	return nil
}

// Sender sends messages to SQS. It stores bodies that are too large for SQS in S3, for
// [Unwrap] and for Amazon's libraries. It is safe for concurrent use.
//
// A body stays in S3 if its message is then not sent, or is not handled. Give the bucket a
// lifecycle rule that is longer than the retention of the queue and of its dead-letter
// queue.
type Sender struct {
	cfg SenderConfig
	s3  func(context.Context) (*s3.Client, error)
	sqs func(context.Context) (*sqs.Client, error)
}

// NewSender returns a Sender, or an error that names what is wrong with cfg.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Threshold = cmp.Or(cfg.Threshold, Threshold)
	return &Sender{cfg: cfg, s3: clientOf(cfg.S3), sqs: queueClientOf(cfg.SQS)}, nil
}

// SendMessage is the client's method, for bodies of up to 5 GiB. It does not change its
// input.
//
// It returns an error of its own, and sends nothing, if the body has to go to S3 and the
// message has an attribute of the libraries, or already ten attributes, so that there is no
// room for the size.
//
// On a FIFO queue, a message whose body is in S3 gets the digest of the body as its
// deduplication id, if it has none. SQS's own digest would be that of the pointer, which is
// different every time.
func (s *Sender) SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	client, err := s.sqs(ctx)
	if err != nil {
		return nil, err
	}
	if in == nil || in.MessageBody == nil {
		return client.SendMessage(ctx, in, opts...) // its error says what is wrong
	}
	m := message{body: *in.MessageBody, attributes: in.MessageAttributes}
	if !s.cfg.Always && m.size() <= s.cfg.Threshold {
		return client.SendMessage(ctx, in, opts...)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if err := s.put(ctx, &m); err != nil {
		return nil, err
	}
	offloaded := *in
	offloaded.MessageBody, offloaded.MessageAttributes = &m.pointer, m.attributes
	offloaded.MessageDeduplicationId = deduplication(in.QueueUrl, in.MessageDeduplicationId, m.body)
	return client.SendMessage(ctx, &offloaded, opts...)
}

// message is a message to be sent.
type message struct {
	body       string
	attributes map[string]types.MessageAttributeValue
	pointer    string // replaces the body if that is in S3
}

// size returns the size as SQS counts it.
func (m *message) size() int {
	n := len(m.body)
	for name, a := range m.attributes {
		n += len(name) + len(aws.ToString(a.DataType)) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}
	return n
}

// check returns why the body cannot be stored in S3, or nil.
func (m *message) check() error {
	for _, name := range []string{sizeAttribute, legacyAttribute} {
		if _, there := m.attributes[name]; there {
			return fmt.Errorf("s3payload: the message has the attribute %s, which says that its body is in S3 already", name)
		}
	}
	if n := len(m.attributes); n >= maxAttributes {
		return fmt.Errorf("s3payload: the message has %d attributes and SQS allows %d: no room for %s, which a body in S3 needs", n, maxAttributes, sizeAttribute)
	}
	return nil
}

// put stores the body in S3 and replaces it by a pointer.
func (s *Sender) put(ctx context.Context, m *message) error {
	client, err := s.s3(ctx)
	if err != nil {
		return err
	}
	p := pointer{Bucket: s.cfg.Bucket, Key: s.cfg.Prefix + newID()}
	in := &s3.PutObjectInput{Bucket: &p.Bucket, Key: &p.Key, Body: strings.NewReader(m.body)}
	if s.cfg.Put != nil {
		s.cfg.Put(in)
	}
	p.Bucket, p.Key = aws.ToString(in.Bucket), aws.ToString(in.Key)
	m.pointer = p.text(s.cfg.Legacy)
	if read, err := parsePointer(m.pointer); err != nil || read != p {
		return fmt.Errorf("s3payload: SenderConfig.Put made the bucket %.63q and the key %.63q, which no pointer leads to: %w", p.Bucket, p.Key, errors.Join(errPointer, err))
	}
	if _, err := client.PutObject(ctx, in); err != nil {
		return fmt.Errorf("s3payload: put the body into bucket %q: %w", p.Bucket, err)
	}
	name := sizeAttribute
	if s.cfg.Legacy {
		name = legacyAttribute
	}
	attributes := make(map[string]types.MessageAttributeValue, len(m.attributes)+1)
	maps.Copy(attributes, m.attributes)
	attributes[name] = types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String(strconv.Itoa(len(m.body)))}
	m.attributes = attributes
	return nil
}

// deduplication returns the deduplication id of a FIFO message whose body is in S3.
func deduplication(queueURL, id *string, body string) *string {
	if id != nil || !strings.HasSuffix(aws.ToString(queueURL), ".fifo") {
		return id
	}
	digest := sha256.Sum256([]byte(body))
	return aws.String(hex.EncodeToString(digest[:]))
}

// newID returns a random UUID, as the libraries use them.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
