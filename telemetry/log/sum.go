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

type counts [batch.Abandoned + 1]int

func (c *counts) attrs(queue string) []slog.Attr {
	line := append(ofQueue(queue), slog.Int("records", c.records()))
	for o, n := range c {
		if n > 0 {
			line = append(line, slog.Int(countName(batch.Outcome(o)), n))
		}
	}
	return line
}

func (c *counts) records() (n int) {
	for _, of := range c {
		n += of
	}
	return n
}

// bound limits lines: [MaxLines] up to level WARN, and as many above it.
type bound struct {
	written [2]int
	left    int        // lines left out
	highest slog.Level // of the lines left out, at least INFO
}

// allow counts a line, and reports whether to write it.
func (b *bound) allow(level slog.Level) bool {
	worse := 0
	if level > slog.LevelWarn {
		worse = 1
	}
	if b.written[worse] < MaxLines {
		b.written[worse]++
		return true
	}
	b.highest = max(b.highest, level)
	b.left++
	return false
}

// above returns the level of a line that reports lines left out: at least their highest
// level.
func (b *bound) above(level slog.Level) slog.Level {
	if b.left > 0 {
		return max(level, b.highest)
	}
	return level
}

// Kinds of lines.
const (
	ofRecords = iota
	ofWarnings
)

// period is the time between two lines about a queue's batches. It begins with the first
// record or warning, and ends after [Config.Every].
type period struct {
	begun  bool
	since  time.Time
	total  counts
	bounds [2]bound // by kind of line
}

type queue struct {
	period
	timer *time.Timer
}

// sums are the periods of the queues, by name.
type sums struct {
	mu sync.Mutex
	of map[string]*queue

	writing sync.Mutex // held while lines are written, so that Flush writes the last ones
}

// period returns a queue's period, and starts one if there is none. Callers hold the lock.
func (h *writer) period(name string) *period {
	q := h.sums.of[name]
	if q == nil {
		q = &queue{timer: time.AfterFunc(h.opts.Every, func() { h.over(name) })}
		h.sums.of[name] = q
	}
	if !q.begun {
		q.begun, q.since = true, time.Now()
		q.timer.Reset(h.opts.Every)
	}
	return &q.period
}

func (h *writer) add(name string, c counts) {
	h.sums.mu.Lock()
	defer h.sums.mu.Unlock()
	p := h.period(name)
	for o, n := range c {
		p.total[o] += n
	}
}

func (h *writer) within(name string, level slog.Level, kind int) bool {
	h.sums.mu.Lock()
	defer h.sums.mu.Unlock()
	return h.period(name).bounds[kind].allow(level)
}

// over writes a period's line. While the output is blocked, the period continues.
func (h *writer) over(name string) {
	free := h.sums.writing.TryLock()
	h.sums.mu.Lock()
	q := h.sums.of[name]
	if !free {
		q.timer.Reset(h.opts.Every)
		h.sums.mu.Unlock()
		return
	}
	defer h.sums.writing.Unlock()
	due := period{}
	if q.begun && time.Since(q.since) >= h.opts.Every { // the timer of this period, not of a flushed one
		due, q.period = q.period, period{}
	}
	h.sums.mu.Unlock()
	h.logSum(context.Background(), name, &due)
}

// flush writes the summaries of all queues, see [Config].
func (h *writer) flush(ctx context.Context) {
	h.sums.writing.Lock()
	defer h.sums.writing.Unlock()
	all := map[string]period{}
	h.sums.mu.Lock()
	for name, q := range h.sums.of {
		q.timer.Stop()
		all[name], q.period = q.period, period{}
	}
	h.sums.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		h.logSum(ctx, name, &p)
	}
}

func (h *writer) logSum(ctx context.Context, name string, p *period) {
	records, warnings := &p.bounds[ofRecords], &p.bounds[ofWarnings]
	level := warnings.above(records.above(slog.LevelInfo))
	if p.total.records()+records.left+warnings.left == 0 || !h.logger.Enabled(ctx, level) {
		return
	}
	line := p.total.attrs(name)
	if records.left > 0 {
		line = append(line, slog.Int("unlogged", records.left))
	}
	if warnings.left > 0 {
		line = append(line, slog.Int("unloggedWarnings", warnings.left))
	}
	h.logger.LogAttrs(ctx, level, "batches", append(line, ms("durationMs", time.Since(p.since)))...)
}
