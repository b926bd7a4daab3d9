package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Signup is the body of a message. `sqsbatch local` sends those of this file when
// it is given nothing else.
//
//sqsbatch:samples events/signups.json
type Signup struct {
	Email string `json:"email"`
	Plan  string `json:"plan"`
}

// welcome returns the function that handles one message. Its error says what
// happens to the message:
//
//	nil                      it is done and deleted
//	batch.Permanent(err)     it goes to the dead-letter queue now
//	batch.RetryAfter(d, err) it comes back after d
//	any other                it comes back, later each time
//
// SQS delivers a message at least once, so a mailer must do nothing for an
// address that it has welcomed already.
func welcome(m Mailer) func(context.Context, Signup) error {
	return func(ctx context.Context, s Signup) error {
		if !strings.Contains(s.Email, "@") {
			return batch.Permanent(errors.New("the email has no @"))
		}
		err := m.Welcome(ctx, s)
		var busy *BusyError
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrNoSuchAddress):
			return batch.Permanent(err)
		case errors.As(err, &busy):
			return batch.RetryAfter(busy.For, err)
		default:
			return fmt.Errorf("welcome: %w", err)
		}
	}
}
