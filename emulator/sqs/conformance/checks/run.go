package checks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Config says what to check, and how. Client is required; the rest may be zero.
type Config struct {
	// Client reaches the service. Retries, credentials and the endpoint are its own.
	Client *awssqs.Client
	// Only runs the checks whose ID it matches. Defaults to all.
	Only *regexp.Regexp
	// Slow runs the slow checks, too: up to six minutes of real time.
	Slow bool
	// Prefix begins the names of all queues: letters, digits, hyphens and
	// underscores, at most 40. Defaults to that of [NewPrefix].
	Prefix string
	// Parallel is how many checks run at the same time. Defaults to 64: most wait.
	Parallel int
	// Timeout ends a check that takes longer; slow ones have ten minutes more.
	// Defaults to a minute, or twice Patience where that is more.
	Timeout time.Duration
	// Patience is for how long checks wait for what the service promises only
	// eventually: counts, a message that must come, an attribute that was set.
	// Defaults to 10 s. AWS's attributes may take 60 s.
	Patience time.Duration
	// Settle is waited after a queue was created. Defaults to nothing. AWS asks for 1 s.
	Settle time.Duration
	// Done is called with each result as it comes, never twice at a time.
	// Defaults to nothing.
	Done func(Result)
}

// Result is what came of one check.
type Result struct {
	Check
	// Err is nil when the check held; otherwise it says what was expected, and what came.
	Err error
	// Took is how long the check ran.
	Took time.Duration
	// Leftover is why queues of the check could not be deleted; nil when they were.
	Leftover error
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// NewPrefix returns a prefix for the names of queues that no other run has.
func NewPrefix() string {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails (package crypto/rand)
	return "conformance-" + hex.EncodeToString(random)
}

func (c Config) complete() (Config, error) {
	if c.Client == nil {
		return c, errors.New("checks: Config.Client is nil: give the client of the service to check")
	}
	if c.Prefix == "" {
		c.Prefix = NewPrefix()
	}
	if !prefixPattern.MatchString(c.Prefix) {
		return c, fmt.Errorf("checks: Config.Prefix is %q: want 1 to 40 letters, digits, hyphens and underscores", c.Prefix)
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{{"Patience", &c.Patience, 10 * time.Second}, {"Timeout", &c.Timeout, max(time.Minute, 2*c.Patience)}, {"Settle", &c.Settle, 0}} {
		if *d.value < 0 {
			return c, fmt.Errorf("checks: Config.%s is %v: want 0 or more", d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	if c.Parallel < 0 {
		return c, fmt.Errorf("checks: Config.Parallel is %d: want 0 or more", c.Parallel)
	}
	c.Parallel = cmp.Or(c.Parallel, 64)
	return c, nil
}

// Chosen returns the checks that Run would run: all but what Only and Slow leave out.
func (c Config) Chosen() []Check {
	var chosen []Check
	for _, check := range All() {
		if (c.Only == nil || c.Only.MatchString(check.ID)) && (c.Slow || !check.Slow) {
			chosen = append(chosen, check)
		}
	}
	return chosen
}

// Run runs the chosen checks side by side, each on queues of its own, which it
// deletes afterwards, also when ctx ends. The results come in the order of
// [All]. The error is about the configuration only, or ctx's.
func Run(ctx context.Context, c Config) ([]Result, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	// The checks compare digests themselves, to say which one is wrong.
	client := awssqs.New(c.Client.Options(), func(o *awssqs.Options) { o.DisableMessageChecksumValidation = true })
	chosen := c.Chosen()
	results := make([]Result, len(chosen))
	places := make(chan struct{}, c.Parallel)
	var running sync.WaitGroup
	var telling sync.Mutex
	for i, check := range chosen {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			results[i] = Result{Check: check, Err: fmt.Errorf("not run: %w", ctx.Err())}
			continue
		}
		running.Go(func() {
			defer func() { <-places }()
			results[i] = runOne(ctx, c, client, check, i)
			if c.Done != nil {
				telling.Lock()
				defer telling.Unlock()
				c.Done(results[i])
			}
		})
	}
	running.Wait()
	return results, ctx.Err()
}

func runOne(ctx context.Context, c Config, client *awssqs.Client, check Check, number int) Result {
	began := time.Now()
	limit := c.Timeout
	if check.Slow {
		limit += 10 * time.Minute
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	e := &env{Client: client, ctx: limited, config: c, stem: fmt.Sprintf("%s-%03d", c.Prefix, number)}
	r := Result{Check: check, Err: e.try(check.run)}
	if r.Err != nil && limited.Err() != nil && ctx.Err() == nil {
		r.Err = fmt.Errorf("not over after %v: %w", limit, r.Err)
	}
	r.Took = time.Since(began)
	r.Leftover = e.deleteQueues()
	return r
}
