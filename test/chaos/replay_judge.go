package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// deduplication is how long a FIFO queue drops second copies.
const deduplication = 5 * time.Minute

// A judgment gathers what is wrong, by kind.
type judgment struct {
	*replay
	move     []bool // by number: it is to be at its destination
	copies   []int  // by number: how many are there
	stayed   []int  // by number: how many are in the dead-letter queue
	named    map[int]bool
	lastIn   map[string]int // the number of a group's last message at the destination
	problems map[string]*problem
}

// A problem is something that is wrong with some messages.
type problem struct {
	count   int
	example string
}

// wrong notes that something is wrong with a message; kind is what, details are for the
// first one.
func (j *judgment) wrong(n int, kind, format string, details ...any) {
	p := j.problems[kind]
	if p == nil {
		p = &problem{example: fmt.Sprintf("message %d: %s", n, fmt.Sprintf(format, details...))}
		j.problems[kind] = p
	}
	p.count++
}

// judge reads both sides of the server. last is what the last run said.
func (r *replay) judge(ctx context.Context, last result) {
	took := time.Since(r.first)
	j := &judgment{
		replay: r, move: expected(r.messages, r.fifo), copies: make([]int, r.messages), stayed: make([]int, r.messages),
		named: map[int]bool{}, lastIn: map[string]int{}, problems: map[string]*problem{},
	}
	for _, id := range last.SentTwice {
		n, known := r.ids[id]
		if !known {
			must.Failf("the tool names a message %q that was never sent", id)
		}
		j.named[n] = true
	}
	if _, hidden := must.Get2(r.counts(ctx, r.dead)); hidden > 0 {
		must.Failf("%d messages are hidden at the end", hidden)
	}
	for _, queue := range []string{r.orders, r.returns} {
		r.drain(ctx, queue, func(m *types.Message) { j.arrived(queue, m) })
	}
	r.drain(ctx, r.dead, j.left)
	extra := j.count()
	must.Do(j.verdict())
	must.Do(j.duplicates(extra, took))
}

// number returns the letter of a message.
func (j *judgment) number(m *types.Message) (l letter, ok bool) {
	n, known := numberOf(aws.ToString(m.Body))
	if !known || n >= j.messages {
		j.wrong(n, "a message that nobody sent", "%.200q", aws.ToString(m.Body))
		return l, false
	}
	return newLetter(n, j.fifo), true
}

// arrived looks at a message of a destination.
func (j *judgment) arrived(queue string, m *types.Message) {
	l, ok := j.number(m)
	if !ok {
		return
	}
	j.copies[l.n]++
	if !j.move[l.n] {
		j.wrong(l.n, "replayed, and not to be", "in %s", queue)
		return
	}
	if want := l.source(j.scene); queue != want {
		j.wrong(l.n, "at the wrong destination", "in %s, not in %s", queue, want)
	}
	if what := l.difference(m, j.scene, true); what != "" {
		j.wrong(l.n, "not edited as asked", "%s", what)
	}
	if j.fifo {
		if before, some := j.lastIn[l.group]; some && before >= l.n {
			j.wrong(l.n, "behind a later message of its group", "it comes after %d", before)
		}
		j.lastIn[l.group] = l.n
	}
}

// left looks at a message of the dead-letter queue.
func (j *judgment) left(m *types.Message) {
	l, ok := j.number(m)
	if !ok {
		return
	}
	j.stayed[l.n]++
	if what := l.difference(m, j.scene, false); what != "" {
		j.wrong(l.n, "changed in the dead-letter queue", "%s", what)
	}
}

// count looks for what is lost or there twice, and returns how many copies are too many.
func (j *judgment) count() (extra int) {
	for n := range j.messages {
		switch {
		case j.copies[n]+j.stayed[n] == 0:
			j.wrong(n, "lost", "to be moved: %v", j.move[n])
		case j.move[n] && j.stayed[n] > 0:
			j.wrong(n, "still in the dead-letter queue", "%d copies are at the destination", j.copies[n])
		case j.stayed[n] > 1:
			j.wrong(n, "more than once in the dead-letter queue", "%d times", j.stayed[n])
		}
		if j.copies[n] > 1 {
			extra += j.copies[n] - 1
			if !j.named[n] {
				j.wrong(n, "sent twice, and not named by the tool", "%d times", j.copies[n])
			}
		}
	}
	return extra
}

func (j *judgment) verdict() error {
	var all []error
	for kind, p := range j.problems {
		all = append(all, fmt.Errorf("%d messages: %s (%s)", p.count, kind, p.example))
	}
	return errors.Join(all...)
}

// duplicates judges how many messages were sent twice, or may have been.
func (j *judgment) duplicates(extra int, took time.Duration) error {
	bound := 10 * j.parallel * j.kills
	if j.fifo && took < deduplication {
		bound = 0
	}
	j.print("0 lost; %d there twice and %d named by the tool, of %d that may be; what was not selected is as it was", extra, len(j.named), bound)
	if extra > bound || len(j.named) > bound {
		return errors.New("too many messages were sent twice or named")
	}
	return nil
}
