package handler

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// A variable of the environment sets one field of the configuration.
type variable struct {
	name   string
	inCode bool                     // the field was set in code, which comes first
	set    func(value string) error // the error says what the value must be
}

// variables returns all variables of the environment, each with the field that it sets and
// what it must be. Those of b together make Config.Backoff.
func (c *Config) variables(b *backoff) []variable {
	inCode := c.Outage != 0 || c.Backoff != nil
	retries := func(v variable) variable { // either field comes before all four variables
		v.inCode = inCode
		return v
	}
	return []variable{
		field("SQSBATCH_CONCURRENCY", &c.Concurrency, number(1, 10_000)),
		field("SQSBATCH_RESERVE", &c.Reserve, duration(longest)),
		field("SQSBATCH_RECORD_TIMEOUT", &c.RecordTimeout, duration(longest-time.Minute)),
		field("SQSBATCH_DEADLINE_POLICY", &c.Deadline, oneOf(batch.WholeRemaining, batch.FairShare)),
		field("SQSBATCH_MIN_REMAINING", &c.MinRemaining, duration(longest)),
		field("SQSBATCH_GRACE", &c.Grace, duration(longest)),
		field("SQSBATCH_DEAD_LETTER_QUEUE", &c.DeadLetterQueue, text),
		field("SQSBATCH_MAX_RECEIVE_COUNT", &c.MaxReceiveCount, number(1, 1000)),
		field("SQSBATCH_ON_PERMANENT", &c.OnPermanent, text),
		field("SQSBATCH_ON_MALFORMED", &c.OnMalformed, text),
		field("SQSBATCH_ERROR_IF_ALL_FAIL", &c.ErrorIfAllFail, boolean),
		field("SQSBATCH_DELETE_SUCCEEDED", &c.DeleteSucceeded, boolean),
		field("SQSBATCH_LOG_SUCCEEDED", &c.LogSucceeded, boolean),
		field("SQSBATCH_LOG_BODY_BYTES", &c.LogBodyBytes, number(0, maxLogBody)),
		{"SQSBATCH_QUEUE_URL", len(c.Poll.Queues) > 0, c.Poll.setQueues},
		field("SQSBATCH_WAIT", &c.Poll.Wait, seconds(time.Second, 20*time.Second)),
		field("SQSBATCH_PREFETCH", &c.Poll.Prefetch, prefetch),
		field("SQSBATCH_VISIBILITY", &c.Poll.Visibility, seconds(3*time.Second, longest)),
		field("SQSBATCH_HEARTBEAT", &c.Poll.NoHeartbeat, noHeartbeat),
		field("SQSBATCH_DRAIN_LIMIT", &c.Poll.DrainLimit, duration(longest)),
		field("SQSBATCH_MAX_ABANDONED", &c.Poll.MaxAbandoned, number(1, 10_000)),
		field("SQSBATCH_HEALTH_ADDR", &c.Poll.HealthAddr, text),
		retries(field("SQSBATCH_OUTAGE", &c.Outage, seconds(time.Second, 7*time.Hour))),
		retries(field("SQSBATCH_BACKOFF", &b.kind, oneOf("exponential", "linear", "constant"))),
		retries(field("SQSBATCH_BACKOFF_BASE", &b.base, duration(longest))),
		retries(field("SQSBATCH_BACKOFF_CAP", &b.limit, duration(longest))),
	}
}

// fromEnvironment sets the fields that are zero from their variables. It
// returns an error that names every variable with a value that cannot be used.
func (c *Config) fromEnvironment() error {
	var b backoff
	var errs []error
	for _, v := range c.variables(&b) {
		value := os.Getenv(v.name)
		if value == "" || v.inCode {
			continue
		}
		if err := v.set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s is %q: %w", v.name, value, err))
		}
	}
	if b != (backoff{}) {
		var err error
		c.Backoff, err = b.function()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// backoff holds the variables that together make Config.Backoff.
type backoff struct {
	kind        string
	base, limit time.Duration
}

func (b backoff) function() (partialfailure.Backoff, error) {
	limit := cmp.Or(b.limit, max(15*time.Minute, b.base))
	base := cmp.Or(b.base, min(2*time.Second, limit))
	if base > limit {
		return nil, fmt.Errorf("SQSBATCH_BACKOFF_BASE is %v: must not be above SQSBATCH_BACKOFF_CAP, which is %v", base, limit)
	}
	switch b.kind {
	case "linear":
		return partialfailure.Linear(base, limit), nil
	case "constant":
		return partialfailure.Constant(base), nil
	default:
		return partialfailure.Exponential(base, limit), nil
	}
}

func (c *PollConfig) setQueues(value string) (err error) {
	items := strings.Split(value, ",")
	for i, queue := range items {
		if queue = strings.TrimSpace(queue); queue != "" {
			c.Queues = append(c.Queues, queue)
			continue
		}
		err = fmt.Errorf("must be queues' URLs, ARNs or names, separated by commas: item %d of %d is empty", i+1, len(items))
	}
	return err
}

// field returns the variable that sets a field, if that is zero.
func field[T comparable](name string, to *T, parse func(string) (T, error)) variable {
	var zero T
	return variable{name, *to != zero, func(value string) error {
		v, err := parse(value)
		if err == nil {
			*to = v
		}
		return err
	}}
}

// checked returns a parser whose error says what a value must be.
func checked[T any](parse func(string) (T, error), good func(T) bool, must string, args ...any) func(string) (T, error) {
	return func(s string) (T, error) {
		v, err := parse(s)
		if err != nil || !good(v) {
			return v, fmt.Errorf("must be "+must, args...)
		}
		return v, nil
	}
}

func number(least, most int) func(string) (int, error) {
	good := func(n int) bool { return n >= least && n <= most }
	return checked(strconv.Atoi, good, "a whole number from %d to %d", least, most)
}

// longest is the most that SQS leaves a message with a receiver.
const longest = 12 * time.Hour

func duration(most time.Duration) func(string) (time.Duration, error) {
	good := func(d time.Duration) bool { return d > 0 && d <= most }
	return checked(time.ParseDuration, good, `a duration above 0 and up to %v, like "500ms" or "30s"`, brief(most))
}

// seconds are whole, since SQS counts in whole seconds.
func seconds(least, most time.Duration) func(string) (time.Duration, error) {
	good := func(d time.Duration) bool { return d >= least && d <= most && d%time.Second == 0 }
	return checked(time.ParseDuration, good, `whole seconds from %v to %v, like "20s"`, brief(least), brief(most))
}

// brief is a duration that is written without minutes and seconds that are zero: 12h
// rather than 12h0m0s.
type brief time.Duration

func (d brief) String() string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(time.Duration(d).String())
}

var boolean = checked(strconv.ParseBool, func(bool) bool { return true }, "true or false")

func oneOf[T ~string](choices ...T) func(string) (T, error) {
	good := func(v T) bool { return slices.Contains(choices, v) }
	return checked(text[T], good, "one of %q", choices)
}

// text takes any value: the package that uses it checks it.
func text[T ~string](s string) (T, error) { return T(s), nil }

// prefetch is -1 for none, since the field's 0 means its default.
func prefetch(s string) (int, error) {
	n, err := number(0, 10_000)(s)
	return cmp.Or(n, -1), err
}

func noHeartbeat(s string) (bool, error) {
	heartbeat, err := boolean(s)
	return !heartbeat, err
}

// ownPrefix begins the names of sqsbatch's variables.
const ownPrefix = "SQSBATCH_"

// unknownVariables returns an error that names the variables of the environment that
// look like sqsbatch's and are not: a misspelled one has no effect. It is nil without any.
func unknownVariables() error {
	var known, unknown []string
	for _, v := range new(Config).variables(new(backoff)) {
		known = append(known, v.name)
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, ownPrefix) && !slices.Contains(known, name) && !serviceLink.MatchString(variable) {
			unknown = append(unknown, name+" is none of sqsbatch's variables and has no effect"+suggest(name, known))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return errors.New(strings.Join(unknown, "; "))
}

// serviceLink is what Kubernetes sets in pods for a service that is called
// sqsbatch-something, see "Discovering services" in its documentation. It sets
// SQSBATCH_X_PORT=tcp://10.0.0.1:80; someone who sets SQSBATCH_X_PORT=80 believes that
// the variable is sqsbatch's.
var serviceLink = regexp.MustCompile(`^[^=]*_((SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=|PORT=.*://)`)

// suggest returns a question with the known name that differs least, or "" when even
// that one differs too much.
func suggest(name string, known []string) string {
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	if distance(name, nearest) > (len(name)-len(ownPrefix)+1)/2 {
		return ""
	}
	return ": is " + nearest + " meant?"
}

// distance is how many letters must be added, removed or changed to turn a into b
// (Levenshtein's distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
