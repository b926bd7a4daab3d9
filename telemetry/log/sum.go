package log

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// counts are numbers of records by outcome.
type counts [batch.Abandoned + 1]int

func (c *counts) attrs() []slog.Attr {
	records := 0
	for _, n := range c {
		records += n
	}
	line := []slog.Attr{slog.Int("records", records)}
	for o, n := range c {
		if n > 0 {
			line = append(line, slog.Int(countNames[o], n))
		}
	}
	return line
}

// sum adds up batches between two lines.
type sum struct {
	mu    sync.Mutex
	total counts
	since time.Time // when the first of them was over; zero without any
}

// add returns the total when a line is due, and begins anew.
func (s *sum) add(c counts, every time.Duration) (total counts, since time.Time, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o, n := range c {
		s.total[o] += n
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if time.Since(s.since) < every {
		return total, since, false
	}
	total, since = s.take()
	return total, since, true
}

func (s *sum) take() (total counts, since time.Time) {
	total, since = s.total, s.since
	s.total, s.since = counts{}, time.Time{}
	return total, since
}

// Flush writes the line for what was summed up since the last, see [Options].
func (h *Hook) Flush(ctx context.Context) {
	h.sum.mu.Lock()
	total, since := h.sum.take()
	h.sum.mu.Unlock()
	if !since.IsZero() && h.logger.Enabled(ctx, slog.LevelInfo) {
		h.logTotal(ctx, total, since)
	}
}

func (h *Hook) logTotal(ctx context.Context, total counts, since time.Time) {
	h.logger.LogAttrs(ctx, slog.LevelInfo, "batches", append(total.attrs(), ms("durationMs", time.Since(since)))...)
}
