package handler

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A parser takes a variable's value, or says what it must be.
type parser func(string) error

// setter takes a variable's value, if the field that it is for is not set.
type setter func(name string, unset bool, parse parser)

func number(to *int, least, most int) parser {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*to = n
		return nil
	}
}

// longest is the most that SQS leaves a message with a receiver.
const longest = 12 * time.Hour

func duration(to *time.Duration, most time.Duration) parser {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > most {
			return fmt.Errorf(`must be a duration above 0 and up to %s, like "500ms" or "30s"`, brief(most))
		}
		*to = d
		return nil
	}
}

// seconds are counted whole by SQS.
func seconds(to *time.Duration, least, most time.Duration) parser {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < least || d > most || d%time.Second != 0 {
			return fmt.Errorf(`must be whole seconds from %s to %s, like "20s"`, brief(least), brief(most))
		}
		*to = d
		return nil
	}
}

// brief is a duration without what is zero: 12h rather than 12h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func boolean(to *bool) parser {
	return func(s string) error {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("must be true or false")
		}
		*to = b
		return nil
	}
}

func oneOf[T ~string](to *T, choices ...T) parser {
	return func(s string) error {
		if !slices.Contains(choices, T(s)) {
			return fmt.Errorf("must be one of %q", choices)
		}
		*to = T(s)
		return nil
	}
}

// text is checked where it is used.
func text[T ~string](to *T) parser {
	return func(s string) error {
		*to = T(s)
		return nil
	}
}

// isAddr says what is wrong with an address to listen at.
func isAddr(s string) error {
	_, port, err := net.SplitHostPort(s)
	if n, e := strconv.Atoi(port); err != nil || e != nil || n < 0 || n > 65535 {
		return errors.New(`must be HOST:PORT or :PORT, like "127.0.0.1:8080" or ":8080"`)
	}
	return nil
}

// ownPrefix begins the names of sqsbatch's variables.
const ownPrefix = "SQSBATCH_"

// serviceLink is what Kubernetes sets in pods for a service that is called
// sqsbatch-something, see "Discovering services" in its documentation.
var serviceLink = regexp.MustCompile(`_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// isServiceLink tells SQSBATCH_X_PORT=tcp://10.0.0.1:80, which Kubernetes sets,
// from SQSBATCH_X_PORT=80, which somebody believes to be sqsbatch's.
func isServiceLink(name, value string) bool {
	link := serviceLink.FindString(name)
	return link != "" && (link != "_PORT" || strings.Contains(value, "://"))
}

// unknownVariables says which variables of the environment look like sqsbatch's
// and are not; "" without any. They have no effect, which a misspelt one hides.
func unknownVariables() string {
	var known, says []string
	_ = new(Config).read(func(name string) string {
		known = append(known, name)
		return ""
	})
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, ownPrefix) && !slices.Contains(known, name) && !isServiceLink(name, value) {
			says = append(says, name+" is none of sqsbatch's variables and has no effect"+meant(name, known))
		}
	}
	slices.Sort(says)
	return strings.Join(says, "; ")
}

// meant asks for the known name that differs least, if that is not by too much.
func meant(name string, known []string) string {
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	if distance(name, nearest) > (len(name)-len(ownPrefix)+1)/2 {
		return ""
	}
	return ": is " + nearest + " meant?"
}

// distance is how many letters have to be put in, taken out or changed to make
// b of a (Levenshtein's).
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
