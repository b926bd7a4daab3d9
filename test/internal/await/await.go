// Package await has checks wait until a condition holds that nothing reports to them.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// Until calls check again and again until it returns nil. It returns check's last error if
// that takes longer than limit.
func Until(ctx context.Context, limit time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %v", limit))
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, 20*time.Millisecond) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// Ready waits, for at most a minute, until check returns nil: a process is ready. It fails when
// the process ends before.
func Ready(ctx context.Context, p *subprocess.Process, check func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Ended():
			cancel(fmt.Errorf("the process ended: %w", p.Err()))
		case <-ctx.Done():
		}
	}()
	if err := Until(ctx, time.Minute, check); err != nil {
		return fmt.Errorf("%w; it printed at last: %q", err, p.LastLines())
	}
	return nil
}
