package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
)

// warnings returns what to say about settings that have no effect although someone
// may think that they have. It is called before the default logger is set.
func (c *Config) warnings() (list []string) {
	if err := unknownVariables(); err != nil {
		list = append(list, err.Error())
	}
	name := os.Getenv(levelVariable)
	if _, ok := logLevel(name); !ok && c.Logger == nil {
		list = append(list, fmt.Sprintf("%s is %q, must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL: it is INFO now", levelVariable, name))
	}
	return list
}

// pollWarnings returns the warnings that only concern Poll.
func (c *PollConfig) pollWarnings() (list []string) {
	inEnvironment := os.Getenv("SQSBATCH_HEALTH_ADDR")
	_, asked, _ := net.SplitHostPort(inEnvironment)
	_, served, _ := net.SplitHostPort(c.HealthAddr)
	if inEnvironment != "" && asked != served {
		list = append(list, fmt.Sprintf("Poll.HealthAddr is %q, and SQSBATCH_HEALTH_ADDR, which comes after it, is %q: a health check that runs livez must be given the former as argument",
			c.HealthAddr, inEnvironment))
	}
	if len(c.Handlers) > 0 && c.HealthAddr == "" {
		list = append(list, fmt.Sprintf("%s: served nowhere, since Poll.HealthAddr is empty (SQSBATCH_HEALTH_ADDR)",
			strings.Join(slices.Sorted(maps.Keys(c.Handlers)), ", ")))
	}
	return list
}

// warn logs warnings.
func (c *Config) warn(ctx context.Context, list []string) {
	for _, warning := range list {
		c.Logger.WarnContext(ctx, warning, "logger", "sqsbatch")
	}
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
