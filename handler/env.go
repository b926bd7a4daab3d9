package handler

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// environment is what was read of the environment's variables.
type environment struct {
	wrong  []error // a variable's name and value, and what that must be
	inCode bool    // the fields that are read now were set in code
}

// read sets a field from its variable, unless it was set in code, which comes first.
func read[T any](e *environment, s *settings.Setting, field *T, unset bool, parse func(string) (T, error)) {
	value := os.Getenv(s.Name)
	if value == "" || e.inCode || !unset {
		return
	}
	parsed, err := parse(value)
	if err != nil {
		e.wrong = append(e.wrong, fmt.Errorf("%s is %q: %w", s.Name, value, err))
		return
	}
	*field = parsed
}

func (e *environment) number(s *settings.Setting, field *int) { read(e, s, field, *field == 0, s.Int) }

func (e *environment) time(s *settings.Setting, field *time.Duration) {
	read(e, s, field, *field == 0, s.Time)
}

func (e *environment) flag(s *settings.Setting, field *bool) { read(e, s, field, !*field, s.Bool) }

// text takes any value: the package that uses it checks it.
func text[T ~string](e *environment, s *settings.Setting, field *T) {
	read(e, s, field, *field == "", func(value string) (T, error) { return T(value), nil })
}

func choice[T ~string](e *environment, s *settings.Setting, field *T) {
	read(e, s, field, *field == "", func(value string) (T, error) {
		chosen, err := s.Choose(value)
		return T(chosen), err
	})
}

// fromEnvironment sets the fields that are zero from their variables. It returns an
// error that names each variable with a value that cannot be used.
func (c *Config) fromEnvironment() error {
	var e environment
	e.number(&settings.Concurrency, &c.Concurrency)
	e.time(&settings.Reserve, &c.Reserve)
	e.time(&settings.RecordTimeout, &c.RecordTimeout)
	choice(&e, &settings.DeadlinePolicy, &c.Deadline)
	e.time(&settings.MinRemaining, &c.MinRemaining)
	e.time(&settings.Grace, &c.Grace)
	text(&e, &settings.DeadLetterQueue, &c.DeadLetterQueue)
	e.number(&settings.MaxReceiveCount, &c.MaxReceiveCount)
	text(&e, &settings.OnPermanent, &c.OnPermanent)
	text(&e, &settings.OnMalformed, &c.OnMalformed)
	e.flag(&settings.ErrorIfAllFail, &c.ErrorIfAllFail)
	e.flag(&settings.DeleteSucceeded, &c.DeleteSucceeded)
	e.flag(&settings.LogSucceeded, &c.LogSucceeded)
	e.number(&settings.LogBodyBytes, &c.LogBodyBytes)
	c.Poll.fromEnvironment(&e)
	e.inCode = c.Outage != 0 || c.Backoff != nil // either comes before all four variables
	e.time(&settings.Outage, &c.Outage)
	var b backoff
	choice(&e, &settings.Backoff, &b.kind)
	e.time(&settings.BackoffBase, &b.base)
	e.time(&settings.BackoffCap, &b.limit)
	if b != (backoff{}) {
		backoff, err := b.function()
		c.Backoff, e.wrong = backoff, append(e.wrong, err)
	}
	return errors.Join(e.wrong...)
}

func (c *PollConfig) fromEnvironment(e *environment) {
	c.Queues = append([]string(nil), c.Queues...) // nil if empty
	read(e, &settings.QueueURL, &c.Queues, c.Queues == nil, settings.QueueURL.List)
	e.time(&settings.Wait, &c.Wait)
	read(e, &settings.Prefetch, &c.Prefetch, c.Prefetch == 0, func(value string) (int, error) {
		n, err := settings.Prefetch.Int(value)
		return cmp.Or(n, -1), err // the field's 0 means its default
	})
	e.time(&settings.Visibility, &c.Visibility)
	read(e, &settings.Heartbeat, &c.NoHeartbeat, !c.NoHeartbeat, func(value string) (bool, error) {
		heartbeat, err := settings.Heartbeat.Bool(value)
		return !heartbeat, err
	})
	e.time(&settings.DrainLimit, &c.DrainLimit)
	e.number(&settings.MaxAbandoned, &c.MaxAbandoned)
	text(e, &settings.HealthAddr, &c.HealthAddr)
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

// unknownVariables returns an error that names the variables of the environment that
// look like sqsbatch's and are not: a misspelled one has no effect. It is nil without any.
func unknownVariables() error {
	var unknown []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, settings.Prefix) && !settings.Known(name) && !regexp.MustCompile(serviceLink).MatchString(variable) {
			unknown = append(unknown, name+" is none of sqsbatch's variables and has no effect"+suggest(name))
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
// the variable is sqsbatch's. It is compiled where there is an unknown variable: no
// cold start pays for it.
const serviceLink = `^[^=]*_((SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=|PORT=.*://)`

// suggest returns a question with the setting whose name differs least, or "" when even
// that one differs too much.
func suggest(name string) string {
	nearest := slices.MinFunc(settings.All, func(a, b *settings.Setting) int {
		return cmp.Compare(distance(name, a.Name), distance(name, b.Name))
	})
	if distance(name, nearest.Name) > (len(name)-len(settings.Prefix)+1)/2 {
		return ""
	}
	return ": is " + nearest.Name + " meant?"
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
