package log

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// counts are numbers of records by outcome.
type counts [batch.Abandoned + 1]int

// attrs are the counts of a queue that has a name.
func (c *counts) attrs(queue string) []slog.Attr {
	records := 0
	for _, n := range c {
		records += n
	}
	line := append(ofQueue(queue), slog.Int("records", records))
	for o, n := range c {
		if n > 0 {
			line = append(line, slog.Int(countNames[o], n))
		}
	}
	return line
}

// sum adds up batches between two lines.
type sum struct {
	total counts
	since time.Time // when the first of them was over
}

// sums are those of each queue, by its ARN, of which there is something to tell.
type sums struct {
	mu sync.Mutex
	of map[string]sum
}

// add returns a queue's sum when a line is due, and begins anew.
func (s *sums) add(arn string, c counts, every time.Duration) (due sum, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[string]sum, 1)
	}
	now := time.Now()
	of, begun := s.of[arn]
	if !begun {
		of.since = now
	}
	for o, n := range c {
		of.total[o] += n
	}
	s.of[arn] = of
	if now.Sub(of.since) < every {
		return sum{}, false
	}
	delete(s.of, arn)
	return of, true
}

func (s *sums) takeAll() map[string]sum {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.of
	s.of = nil
	return all
}

// Flush writes the lines for what was summed up since the last, see [Options].
func (h *Hook) Flush(ctx context.Context) {
	all := h.sums.takeAll()
	for _, arn := range slices.Sorted(maps.Keys(all)) {
		if h.logger.Enabled(ctx, slog.LevelInfo) {
			h.logSum(ctx, arn, all[arn])
		}
	}
}

func (h *Hook) logSum(ctx context.Context, arn string, s sum) {
	line := append(s.total.attrs(batch.QueueName(arn)), ms("durationMs", time.Since(s.since)))
	h.logger.LogAttrs(ctx, slog.LevelInfo, "batches", line...)
}
