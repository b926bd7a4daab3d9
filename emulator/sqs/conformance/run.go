package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Config says what to run, and how.
type Config struct {
	// Client is the client of the service, with its endpoint, credentials and retries.
	Client *awssqs.Client
	// Only selects the checks with a matching ID; nil: all.
	Only *regexp.Regexp
	// Slow includes the slow checks, which take up to six minutes of real time.
	Slow bool
	// Prefix is the start of the names of all queues.
	Prefix string
	// Parallel is the number of concurrent checks. Most of them wait.
	Parallel int
	// Timeout limits each check; slow ones have ten minutes more.
	Timeout time.Duration
	// Patience limits the wait for results that the service promises only eventually, such as
	// counts, messages and changed attributes.
	Patience time.Duration
	// Settle is the pause after creating a queue.
	Settle time.Duration
	// Done is called with each result as it comes, one call at a time; nil: none.
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

// Chosen returns the checks that Run would run, by Only and Slow.
func (c Config) Chosen() []Check {
	return slices.DeleteFunc(All(), func(check Check) bool {
		return c.Only != nil && !c.Only.MatchString(check.ID) || check.Slow && !c.Slow
	})
}

// Run runs the chosen checks concurrently, each on its own queues, which Run deletes
// afterwards, also at ctx's end. The results are in the order of [All]. The error is ctx's:
// failed checks are not errors.
func Run(ctx context.Context, c Config) ([]Result, error) {
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
