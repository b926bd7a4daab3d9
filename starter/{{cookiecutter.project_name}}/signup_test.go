package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// mailerFunc is a Mailer for tests.
type mailerFunc func(context.Context, Signup) error

func (f mailerFunc) Welcome(ctx context.Context, s Signup) error { return f(ctx, s) }

func TestWelcome(t *testing.T) {
	down := errors.New("connection refused")
	tests := []struct {
		name      string
		email     string
		mailer    error
		permanent bool
		after     time.Duration
		want      error
	}{
		{name: "sent", email: "ann@example.com"},
		{name: "no address", email: "ann", permanent: true},
		{name: "unknown address", email: "ann@example.com", mailer: ErrNoSuchAddress, permanent: true, want: ErrNoSuchAddress},
		{name: "busy", email: "ann@example.com", mailer: &BusyError{For: time.Minute}, after: time.Minute},
		{name: "down", email: "ann@example.com", mailer: down, want: down},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mailer := mailerFunc(func(context.Context, Signup) error { return tt.mailer })
			err := welcome(mailer)(t.Context(), Signup{Email: tt.email, Plan: "free"})

			if failed := tt.permanent || tt.after > 0 || tt.want != nil; (err != nil) != failed {
				t.Fatalf("error is %v", err)
			}
			verdict := batch.VerdictOf(err)
			if verdict.Permanent != tt.permanent {
				t.Errorf("%v: permanent is %v, want %v", err, !tt.permanent, tt.permanent)
			}
			if verdict.After != tt.after {
				t.Errorf("%v: want a retry after %v", err, tt.after)
			}
			if !errors.Is(err, tt.want) && tt.want != nil {
				t.Errorf("%v does not wrap %v", err, tt.want)
			}
		})
	}
}
