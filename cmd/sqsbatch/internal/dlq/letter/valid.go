package letter

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

// Limits of SQS ("Amazon SQS message quotas").
const (
	maxSize       = 1 << 20 // of body and attributes
	maxAttributes = 10
)

// Validate reports why SQS would refuse the message. It does not check numbers.
func (l *Letter) Validate() error {
	switch size := l.Size(); {
	case l.Body == "":
		return errors.New("the body is empty; SQS takes bodies of at least one character")
	case !attribute.ValidText(l.Body):
		return errors.New("the body has characters that SQS does not take")
	case len(l.Attributes) > maxAttributes:
		return fmt.Errorf("the message has %d attributes; SQS takes at most %d", len(l.Attributes), maxAttributes)
	case size > maxSize:
		return fmt.Errorf("body and attributes have %d bytes; SQS takes at most %d", size, maxSize)
	case !attribute.ValidToken(l.GroupID):
		return errors.New("the group may have up to 128 ASCII letters, digits and punctuation characters, without blanks")
	}
	for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
		if fault := attribute.Fault(name, l.Attributes[name]); fault != "" {
			return fmt.Errorf("attribute %q %s", name, fault)
		}
	}
	return nil
}
