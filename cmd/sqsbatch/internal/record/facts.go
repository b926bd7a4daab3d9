package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	sum    = regexp.MustCompile(`^\d+ messages sent: `)
	titles = regexp.MustCompile(`^ +n +min .*$`) // of the table's columns
	// Go's downloads, and what depends on which messages come back together.
	passing = regexp.MustCompile(`^go: |^#\d+ +(?:took |\d+ records?(?:, cold start)?$)`)
	// Numbers of invocations, times and the port.
	changing = regexp.MustCompile(`^#\d+|<?\b\d+(?:\.\d+)?(?:ms|s|m)\b| \(\d+ invocations, .*\)|127\.0\.0\.1:\d+`)
)

// facts returns what the lines of a run show, whatever the machine and the jitter: its rows
// in order of the alphabet, of those below the table's titles only the name.
func facts(lines []string) (rows []string) {
	table := false
	for _, l := range lines {
		switch text := strings.TrimLeft(l, " "); {
		case titles.MatchString(l):
			table = true
			rows = append(rows, l)
		case len(l)-len(text) >= 5 && !table && len(rows) > 0: // the row above goes on
			rows[len(rows)-1] += " " + text
		case table:
			name, _, _ := strings.Cut(l, "  ")
			rows = append(rows, name)
		case !passing.MatchString(l):
			rows = append(rows, l)
		}
	}
	for i, r := range rows {
		rows[i] = strings.Join(strings.Fields(changing.ReplaceAllString(r, "~")), " ")
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// differences are the rows that only one of two runs shows.
func differences(was, is []string) (list []string) {
	for _, row := range was {
		if !slices.Contains(is, row) {
			list = append(list, "was "+row)
		}
	}
	for _, row := range is {
		if !slices.Contains(was, row) {
			list = append(list, "is  "+row)
		}
	}
	return list
}
