package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// facts are what each run shows, whatever the machine and the jitter.
type facts struct {
	Command  string
	Header   []string // the labels: function, settings, …
	Attempts []string // message, attempt, outcome and reason
	Dead     []string // message and reason
	Sum      string
	Table    []string // the titles of columns and rows
}

var (
	label   = regexp.MustCompile(`^(function|settings|endpoint|queue|dead letters|retries) +\S`)
	attempt = regexp.MustCompile(`^(?:#\d+|sqs) +([a-z-]+) +try (\d+) +(?:\S+ of \S+ +)?(\S+)(.*)$`)
	dead    = regexp.MustCompile(`^  (id=\S+)(.*)$`)
	sum     = regexp.MustCompile(`^\d+ messages sent: [^(]*`)
	titles  = regexp.MustCompile(`^ +n +min .*$`)
	title   = regexp.MustCompile(`^([a-z][a-z ]*?)  +\S`)
	digits  = regexp.MustCompile(`<?\d+(?:\.\d+)?(?:ms|s|m)\b`)
	gap     = regexp.MustCompile(` {2,}`)
	goesOn  = regexp.MustCompile(`^ {5,}(\S.*)$`)
)

// joined puts rows together that go on in lines below them, which are indented.
func joined(lines []string) (rows []string) {
	for _, l := range lines {
		more := goesOn.FindStringSubmatch(l)
		if more == nil || titles.MatchString(l) || len(rows) == 0 {
			rows = append(rows, l)
			continue
		}
		last := &rows[len(rows)-1]
		between := " "
		if m := attempt.FindStringSubmatch(*last); m != nil && reason(m[4]) == "" {
			between = "  " // the reason begins here
		} else if m := dead.FindStringSubmatch(*last); m != nil && reason(m[2]) == "" {
			between = "  "
		}
		*last += between + more[1]
	}
	return rows
}

// factsOf finds them in the lines of a run, and misses none of them.
func factsOf(lines []string) (f facts, err error) {
	lines = joined(lines)
	if len(lines) == 0 {
		return f, errors.New("no lines")
	}
	f, err = tableOf(lines)
	f.Command = lines[0]
	for _, l := range lines {
		if m := label.FindStringSubmatch(l); m != nil {
			f.Header = append(f.Header, m[1])
		} else if m := attempt.FindStringSubmatch(l); m != nil {
			f.Attempts = append(f.Attempts, fmt.Sprintf("%s try %s %s: %s", m[3], m[2], m[1], reason(m[4])))
		} else if m := dead.FindStringSubmatch(l); m != nil {
			f.Dead = append(f.Dead, m[1]+": "+reason(m[2]))
		}
	}
	slices.Sort(f.Attempts)
	slices.Sort(f.Dead)
	if len(f.Header) == 0 || len(f.Attempts) == 0 || len(f.Dead) == 0 {
		err = errors.Join(err, fmt.Errorf("no header, attempts or dead letters: %+v", f))
	}
	return f, err
}

// tableOf finds the sum and the table's titles, which the page has as well.
func tableOf(lines []string) (f facts, err error) {
	lines = joined(lines)
	for i, l := range lines {
		if m := sum.FindString(l); m != "" {
			f.Sum = strings.TrimSpace(m)
		}
		if !titles.MatchString(l) {
			continue
		}
		f.Table = append(f.Table, strings.Join(strings.Fields(l), " "))
		for _, row := range lines[i+1:] {
			if m := title.FindStringSubmatch(row); m != nil {
				f.Table = append(f.Table, m[1])
			}
		}
	}
	if f.Sum == "" || len(f.Table) < 2 {
		return f, fmt.Errorf("no sum or table: %+v", f)
	}
	return f, nil
}

// reason is what follows the last gap of a line, without times, as far as the line has it.
func reason(rest string) string {
	at := gap.FindAllStringIndex(rest, -1)
	if len(at) == 0 {
		return ""
	}
	return digits.ReplaceAllString(strings.TrimSpace(rest[at[len(at)-1][1]:]), "0s")
}

// differences names the fields that are not the same. A text that was cut at the terminal's
// width is the same as a longer one.
func (f facts) differences(now facts) (list []string) {
	was, is := reflect.ValueOf(f), reflect.ValueOf(now)
	for i := range was.NumField() {
		a, b := asList(was.Field(i)), asList(is.Field(i))
		if slices.EqualFunc(a, b, same) {
			continue
		}
		list = append(list, fmt.Sprintf("%s was\n  %s\nis\n  %s", was.Type().Field(i).Name, strings.Join(a, "\n  "), strings.Join(b, "\n  ")))
	}
	return list
}

func asList(v reflect.Value) []string {
	if v.Kind() == reflect.String {
		return []string{v.String()}
	}
	return v.Interface().([]string)
}

func same(a, b string) bool {
	shortA, cutA := strings.CutSuffix(a, "…")
	shortB, cutB := strings.CutSuffix(b, "…")
	return shortA == shortB || cutA && strings.HasPrefix(shortB, shortA) || cutB && strings.HasPrefix(shortA, shortB)
}
