package s3payload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
)

// message is one as its sender had it, or its receiver got it.
type message struct {
	Digest     string
	Bytes      int
	Attributes map[string]string
}

func (m message) String() string {
	return fmt.Sprintf("%d bytes, %.8s…, attributes %v", m.Bytes, m.Digest, m.Attributes)
}

func newMessage(body string, attributes map[string]string) message {
	digest := sha256.Sum256([]byte(body))
	return message{hex.EncodeToString(digest[:]), len(body), attributes}
}

// received is what reached a function.
func received(body string, r batch.Record) message {
	attributes := map[string]string{}
	for name, a := range r.MessageAttributes {
		attributes[name] = a.StringValue
	}
	return newMessage(body, attributes)
}

// typed are attributes for a client.
func typed(attributes map[string]string) map[string]types.MessageAttributeValue {
	all := map[string]types.MessageAttributeValue{}
	for name, value := range attributes {
		all[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	return all
}

// extended runs the library, and returns the messages that it tells of.
func (w *world) extended(ctx context.Context, args ...string) ([]message, error) {
	out, err := w.stage.Log.Run(w.python.Command(ctx, append([]string{filepath.Join(w.stage.Root, "test", "integration", "s3payload", "python", "extended.py")}, args...)...))
	if err != nil {
		return nil, err
	}
	var all []message
	for line := range strings.Lines(out) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// same compares what was sent with what was received, whatever its order.
func same(sent, got []message) error {
	count := map[string]int{}
	for _, m := range sent {
		count[m.String()]++
	}
	for _, m := range got {
		count[m.String()]--
	}
	var wrong []error
	for _, m := range slices.Sorted(maps.Keys(count)) {
		if n := count[m]; n > 0 {
			wrong = append(wrong, fmt.Errorf("not received: %s", m))
		} else if n < 0 {
			wrong = append(wrong, fmt.Errorf("not sent: %s", m))
		}
	}
	if len(sent) == 0 {
		wrong = append(wrong, errors.New("nothing was sent"))
	}
	fmt.Printf("%d messages sent, %d received\n", len(sent), len(got))
	return errors.Join(wrong...)
}
