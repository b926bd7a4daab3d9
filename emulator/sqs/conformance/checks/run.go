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

// Config configures [Run]. Client is required; the rest may be zero.
type Config struct {
	// Client is the client of the service, with its endpoint, credentials and retries.
	Client *awssqs.Client
	// Only selects the checks with a matching ID. Defaults to all.
	Only *regexp.Regexp
	// Slow includes the slow checks, which take up to six minutes of real time.
	Slow bool
	// Prefix is the start of the names of all queues: letters, digits, hyphens and underscores,
	// at most 40. Defaults to a [NewPrefix].
	Prefix string
	// Parallel is the number of concurrent checks. Defaults to 64, since most of them wait.
	Parallel int
	// Timeout limits each check; slow ones have ten minutes more. Defaults to a minute, or twice
	// Patience if that is more.
	Timeout time.Duration
	// Patience limits the wait for results that the service promises only eventually, such as
	// counts, messages and changed attributes. Defaults to 10 s. AWS's attributes may take 60 s.
	Patience time.Duration
	// Settle is the pause after creating a queue. Defaults to none. AWS requires 1 s.
	Settle time.Duration
	// Done is called with each result as it comes, one call at a time. Defaults to none.
	Done func(Result)
}

// Result is the result of one check.
type Result struct {
	Check
	// Err is nil if the check passed. Otherwise it contains the expected and the actual result.
	Err error
	// Took is the duration of the check.
	Took time.Duration
	// Leftover is the error of deleting the check's queues, nil if they were deleted.
	Leftover error
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// NewPrefix returns a random prefix for the names of queues.
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

// Chosen returns the checks that Run would run, by Only and Slow.
func (c Config) Chosen() []Check {
	var chosen []Check
	for _, check := range All() {
		if (c.Only == nil || c.Only.MatchString(check.ID)) && (c.Slow || !check.Slow) {
			chosen = append(chosen, check)
		}
	}
	return chosen
}

// Run runs the chosen checks concurrently, each on its own queues, which Run deletes
// afterwards, also at ctx's end. The results are in the order of [All]. The error is about
// the configuration, or ctx's: failed checks are not errors.
func Run(ctx context.Context, c Config) ([]Result, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	// The checks compare digests themselves, so that their errors name the wrong one.
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
