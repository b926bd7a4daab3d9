package letter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// Criteria select letters. A letter must meet each criterion that is set. The zero value
// selects all letters.
type Criteria struct {
	// Where is a jq program (see [Input] for what it reads). It selects a letter if its
	// first output is neither false nor null. A letter without an output is not selected.
	Where string
	// Reason selects letters whose reason contains this text, and those whose
	// [ReasonGroup] it is, also as [Group] names it.
	Reason string
	// Since and Until select letters by [Letter.When]: from Since on, and before Until. A
	// letter whose time is not known is not selected by either.
	Since, Until time.Time
	// IDs select letters by their id in the dead-letter queue, or by the id that the
	// message had in its source queue if sqsbatch dead-lettered it.
	IDs []string
}

// A Selection is compiled [Criteria].
type Selection struct {
	criteria Criteria
	where    *program // nil without Where
}

// Compile checks c. The error names the flag that is wrong.
func (c Criteria) Compile() (*Selection, error) {
	s := &Selection{criteria: c}
	if !c.Since.IsZero() && !c.Until.IsZero() && !c.Since.Before(c.Until) {
		return nil, fmt.Errorf("--since %s: it must be before --until %s",
			c.Since.Format(time.RFC3339), c.Until.Format(time.RFC3339))
	}
	if c.Where != "" {
		where, err := compile("--where", c.Where)
		if err != nil {
			return nil, err
		}
		s.where = where
	}
	return s, nil
}

// All reports whether c selects every letter.
func (c Criteria) All() bool {
	return c.Where == "" && c.Reason == "" && c.Since.IsZero() && c.Until.IsZero() && len(c.IDs) == 0
}

// Matches reports whether l is selected. The error says that the program of --where failed.
// It names the letter's id, and contains nothing of the letter's body.
func (s *Selection) Matches(l *Letter, now time.Time) (bool, error) {
	c := s.criteria
	switch when := l.When(); {
	case len(c.IDs) > 0 && !l.hasID(c.IDs),
		!c.Since.IsZero() && (when.IsZero() || when.Before(c.Since)),
		!c.Until.IsZero() && (when.IsZero() || !when.Before(c.Until)),
		c.Reason != "" && !matchesReason(l.Reason(), c.Reason):
		return false, nil
	case s.where == nil:
		return true, nil
	}
	outputs, err := s.where.run(l, now, 1)
	if err != nil {
		return false, err
	}
	return len(outputs) > 0 && outputs[0] != nil && outputs[0] != false, nil
}

func (l *Letter) hasID(ids []string) bool {
	return slices.Contains(ids, l.ID) || l.Origin != nil && l.Origin.MessageID != "" && slices.Contains(ids, l.Origin.MessageID)
}

func matchesReason(reason, text string) bool {
	if strings.Contains(reason, text) {
		return true
	}
	group := ReasonGroup(reason)
	return group == text || show.Fit(group, maxName) == text
}

// When returns the time at which the message failed. If sqsbatch did not write it down, it
// is the time of the first receive, else the time at which the message was sent. It is zero
// if none of them is known.
func (l *Letter) When() time.Time {
	switch {
	case l.origin() != nil && !l.origin().FailedAt.IsZero():
		return l.origin().FailedAt
	case !l.FirstReceived.IsZero():
		return l.FirstReceived
	default:
		return l.Sent
	}
}

// SourceName is the name of the queue of [Letter.SourceARN]; "" if that is "".
func (l *Letter) SourceName() string { return batch.QueueName(l.SourceARN()) }
