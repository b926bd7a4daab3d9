// Package live reads queues that are deployed, with what polls them, as templates of
// CloudFormation, so that the rules judge them as they judge templates. It only reads.
//
//	queues, requests, err := live.Read(ctx, live.Options{Names: []string{"orders"}})
//	if err != nil {
//		return err
//	}
//	stack, err := queues[0].Source.Template.Stack(queues[0].Source.Options)
//
// live.go finds the queues, account.go calls AWS and remembers its answers, and queue.go, function.go
// and around.go (alarms, keys and topics) say what becomes of them in a template.
package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// Options say what is read.
type Options struct {
	queue.Settings
	Names     []string // of queues: names, URLs, ARNs, and prefixes of names with a * at the end
	Functions []string // whose queues are read: names or ARNs
}

// A Queue is one that was read.
type Queue struct {
	Name string // the queue's, or what the user gave if it could not be read
	ARN  string // "" if it could not be read
	Err  error  // why it could not be read
	// Source is the queue with its dead-letter queue, mappings, functions, roles, keys and alarms.
	Source *source.Source
	// Unknown is what could not be read. Findings of its rules are not known to be right.
	Unknown []rules.Unknown
	// Refused are the errors of calls, of which some may be in Unknown.
	Refused []error

	account *account
	opened  *queue.Queue // nil if it could not be read
	dead    string       // the ARN of its dead-letter queue
	prefix  bool         // a prefix matched it, and nothing else named it
}

// Read reads queues. The second result is the number of requests for each service.
func Read(ctx context.Context, o Options) ([]*Queue, map[string]int, error) {
	r := &reader{options: o, accounts: map[[2]string]*account{}}
	targets := r.targets(ctx)
	queues := make([]*Queue, len(targets))
	atOnce(len(targets), func(i int) { queues[i] = targets[i].find(ctx) })
	queues = distinct(queues)
	atOnce(len(queues), func(i int) { queues[i].read(ctx) })
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(queues) == 0 {
		return nil, nil, errors.New("there is no queue to check")
	}
	return queues, r.requests(), nil
}

// atOnce calls do for n numbers, some at the same time. AWS throttles some calls at few a second.
func atOnce(n int, do func(i int)) {
	slots := make(chan struct{}, 4)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	all.Wait()
}

// distinct leaves out queues that were named twice, and dead-letter queues that only a prefix
// named: they are checked with the queues that they belong to.
func distinct(queues []*Queue) []*Queue {
	at := map[string]int{}
	var list []*Queue
	for _, q := range queues {
		if i, again := at[q.ARN]; again && q.ARN != "" {
			list[i].prefix = list[i].prefix && q.prefix
			continue
		}
		at[q.ARN] = len(list)
		list = append(list, q)
	}
	left := map[*Queue]bool{}
	for _, q := range list {
		left[q] = q.prefix && q.ARN != "" && slices.ContainsFunc(list, func(of *Queue) bool { return of != q && !left[of] && of.dead == q.ARN })
	}
	return slices.DeleteFunc(list, func(q *Queue) bool { return left[q] })
}

// A reader has an account for each region and endpoint.
type reader struct {
	options  Options
	mu       sync.Mutex
	accounts map[[2]string]*account
}

// account returns the account of a queue that the user names.
func (r *reader) account(ctx context.Context, name string) (*account, error) {
	region, base := endpoint.Of(name)
	key := [2]string{region, base}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.accounts[key]; a != nil {
		return a, nil
	}
	a, err := connect(ctx, r.options.Settings, name)
	if err == nil {
		r.accounts[key] = a
	}
	return a, err
}

func (r *reader) requests() map[string]int {
	sum := map[string]int{}
	for _, a := range r.accounts {
		for _, part := range []map[string]int{a.client.Requests(), {"sqs": int(a.calls.Load())}} {
			for service, n := range part {
				sum[service] += n
			}
		}
	}
	maps.DeleteFunc(sum, func(_ string, n int) bool { return n == 0 })
	return sum
}

// A target is a queue to read.
type target struct {
	*account
	name   string
	listed bool // the name is a URL that SQS listed
	err    error
}

// targets finds the queues that the options mean.
func (r *reader) targets(ctx context.Context) (list []target) {
	for _, name := range r.options.Names {
		a, err := r.account(ctx, name)
		prefix, many := strings.CutSuffix(name, "*")
		switch {
		case err == nil && strings.Contains(prefix, "*"), err == nil && many && strings.ContainsAny(prefix, ":/"):
			err = errors.New("a * may only be at the end of a queue's name")
		case err == nil && many:
			var urls []string
			if urls, err = a.list(ctx, prefix); err == nil && len(urls) == 0 {
				err = fmt.Errorf("no queue's name begins with %q in region %s", prefix, a.Region())
			}
			for _, url := range urls {
				list = append(list, target{a, url, true, nil})
			}
			if err == nil {
				continue
			}
		}
		list = append(list, target{account: a, name: name, err: err})
	}
	for _, name := range r.options.Functions {
		f, err := parseFunction(name)
		var a *account
		var found []mapping
		if err == nil {
			a, err = r.account(ctx, f.regional())
		}
		if err == nil {
			found, err = a.everyMappingOf(ctx, f)
		}
		arns := map[string]bool{}
		for _, m := range found {
			arns[m.EventSourceArn] = true
		}
		if err == nil && len(arns) == 0 {
			err = fmt.Errorf("no event source mapping of function %s polls a queue", name)
		}
		if err != nil {
			list = append(list, target{name: name, err: err})
		}
		for _, arn := range slices.Sorted(maps.Keys(arns)) {
			list = append(list, target{account: a, name: arn})
		}
	}
	return list
}

// find opens a queue.
func (t target) find(ctx context.Context) *Queue {
	out := &Queue{Name: t.name, Err: t.err, account: t.account, prefix: t.listed}
	if t.err != nil {
		out.Err = fmt.Errorf("%s: %w", t.name, t.err)
		return out
	}
	if out.opened, out.Err = t.open(ctx, t.name, t.listed); out.Err == nil {
		out.Name, out.ARN, out.dead = batch.QueueName(out.opened.ARN), out.opened.ARN, out.opened.DeadLetterQueue
	}
	return out
}

// read reads what belongs to a queue that was found.
func (q *Queue) read(ctx context.Context) {
	if q.Err != nil {
		return
	}
	b := newBuilder(q.account, q.opened)
	b.read(ctx)
	q.Unknown, q.Refused = b.unknown, b.refused
	q.Source, q.Err = b.write()
}
