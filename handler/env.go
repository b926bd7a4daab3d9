package handler

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// environment is what was read of the environment's variables.
type environment struct {
	names  []string // of all variables of sqsbatch
	wrong  []error  // a variable's name and value, and what that must be
	inCode bool     // the fields that are read now were set in code
}

// read sets a field from its variable, unless it was set in code, which comes first.
func read[T any](e *environment, name string, field *T, parse func(string) (T, error)) {
	e.names = append(e.names, name)
	value := os.Getenv(name)
	if value == "" || e.inCode || !reflect.ValueOf(field).Elem().IsZero() {
		return
	}
	parsed, err := parse(value)
	if err != nil {
		e.wrong = append(e.wrong, fmt.Errorf("%s is %q: %w", name, value, err))
		return
	}
	*field = parsed
}

// fromEnvironment sets the fields that are zero from their variables. It returns
// the names of all variables, and an error that names each with a value that
// cannot be used.
func (c *Config) fromEnvironment() (names []string, err error) {
	var e environment
	read(&e, "SQSBATCH_CONCURRENCY", &c.Concurrency, number(1, 10_000))
	read(&e, "SQSBATCH_RESERVE", &c.Reserve, duration(longest))
	read(&e, "SQSBATCH_RECORD_TIMEOUT", &c.RecordTimeout, duration(longest-time.Minute))
	read(&e, "SQSBATCH_DEADLINE_POLICY", &c.Deadline, oneOf(batch.WholeRemaining, batch.FairShare))
	read(&e, "SQSBATCH_MIN_REMAINING", &c.MinRemaining, duration(longest))
	read(&e, "SQSBATCH_GRACE", &c.Grace, duration(longest))
	read(&e, "SQSBATCH_DEAD_LETTER_QUEUE", &c.DeadLetterQueue, text)
	read(&e, "SQSBATCH_MAX_RECEIVE_COUNT", &c.MaxReceiveCount, number(1, 1000))
	read(&e, "SQSBATCH_ON_PERMANENT", &c.OnPermanent, text)
	read(&e, "SQSBATCH_ON_MALFORMED", &c.OnMalformed, text)
	read(&e, "SQSBATCH_ERROR_IF_ALL_FAIL", &c.ErrorIfAllFail, boolean)
	read(&e, "SQSBATCH_DELETE_SUCCEEDED", &c.DeleteSucceeded, boolean)
	read(&e, "SQSBATCH_LOG_SUCCEEDED", &c.LogSucceeded, boolean)
	read(&e, "SQSBATCH_LOG_BODY_BYTES", &c.LogBodyBytes, number(0, maxLogBody))
	c.Poll.Queues = append([]string(nil), c.Poll.Queues...) // nil if empty
	read(&e, "SQSBATCH_QUEUE_URL", &c.Poll.Queues, queues)
	read(&e, "SQSBATCH_WAIT", &c.Poll.Wait, seconds(time.Second, 20*time.Second))
	read(&e, "SQSBATCH_PREFETCH", &c.Poll.Prefetch, prefetch)
	read(&e, "SQSBATCH_VISIBILITY", &c.Poll.Visibility, seconds(3*time.Second, longest))
	read(&e, "SQSBATCH_HEARTBEAT", &c.Poll.NoHeartbeat, noHeartbeat)
	read(&e, "SQSBATCH_DRAIN_LIMIT", &c.Poll.DrainLimit, duration(longest))
	read(&e, "SQSBATCH_MAX_ABANDONED", &c.Poll.MaxAbandoned, number(1, 10_000))
	read(&e, "SQSBATCH_HEALTH_ADDR", &c.Poll.HealthAddr, text)
	e.inCode = c.Outage != 0 || c.Backoff != nil // either comes before all four variables
	read(&e, "SQSBATCH_OUTAGE", &c.Outage, seconds(time.Second, 7*time.Hour))
	var b backoff
	read(&e, "SQSBATCH_BACKOFF", &b.kind, oneOf("exponential", "linear", "constant"))
	read(&e, "SQSBATCH_BACKOFF_BASE", &b.base, duration(longest))
	read(&e, "SQSBATCH_BACKOFF_CAP", &b.limit, duration(longest))
	if b != (backoff{}) {
		c.Backoff, err = b.function()
	}
	return e.names, errors.Join(append(e.wrong, err)...)
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

// queues are separated by commas.
func queues(value string) ([]string, error) {
	items := strings.Split(value, ",")
	for i := range items {
		if items[i] = strings.TrimSpace(items[i]); items[i] == "" {
			return nil, fmt.Errorf("must be queues' URLs, ARNs or names, separated by commas: item %d of %d is empty", i+1, len(items))
		}
	}
	return items, nil
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
	known, _ := new(Config).fromEnvironment()
	var unknown []string
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
