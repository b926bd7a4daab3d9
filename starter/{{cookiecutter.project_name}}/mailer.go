package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Mailer sends mail. Welcome must give up when ctx ends.
type Mailer interface {
	Welcome(ctx context.Context, s Signup) error
}

// ErrNoSuchAddress is returned for an address that takes no mail.
var ErrNoSuchAddress = errors.New("no such address")

// BusyError is returned when the mail server asks to come back later.
type BusyError struct{ For time.Duration }

func (e *BusyError) Error() string { return fmt.Sprintf("the mail server is busy for %s", e.For) }

// demoMailer stands in for a mail service: it sends nothing, and fails as the
// address says. nobody@… takes no mail, later@… is refused at the first
// attempt, as by servers that greylist.
type demoMailer struct{}

// Welcome implements [Mailer].
func (demoMailer) Welcome(ctx context.Context, s Signup) error {
	name, _, _ := strings.Cut(s.Email, "@")
	switch name {
	case "nobody":
		return ErrNoSuchAddress
	case "later":
		if r, ok := batch.RecordFrom(ctx); ok && r.Attempt == 1 {
			return &BusyError{For: 2 * time.Second}
		}
	}
	return ctx.Err()
}
