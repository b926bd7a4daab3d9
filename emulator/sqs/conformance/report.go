package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs/conformance/checks"
)

// report prints what came of the checks.
type report struct{ out io.Writer }

// line prints one result as it comes.
func (r report) line(result checks.Result) {
	if result.Err == nil {
		_, _ = fmt.Fprintf(r.out, "ok    %s (%v)\n", result.ID, result.Took.Round(time.Millisecond))
		return
	}
	word := "FAIL "
	if !result.Promised() {
		word = "note "
	}
	_, _ = fmt.Fprintf(r.out, "%s %s (%v)\n      must: %s\n      but:  %s\n      see:  %s\n", word, result.ID, result.Took.Round(time.Millisecond),
		result.Must, strings.ReplaceAll(result.Err.Error(), "\n", "\n            "), sources(result.Check, "\n            "))
}

// sources are where a check comes from.
func sources(c checks.Check, separator string) string {
	text := c.Page.Title + ", " + c.Page.URL
	if c.Recorded.Place != "" {
		text += separator + c.Recorded.String()
	}
	return text
}

// count is how many checks held, of how many.
type count struct{ passed, of int }

func (c *count) add(passed bool) {
	c.of++
	if passed {
		c.passed++
	}
}

// end prints the counts and reports whether a documented check failed.
func (r report) end(results []checks.Result) (failed bool, err error) {
	var themes []string
	var promised, other count
	byTheme := map[string]*count{}
	for _, result := range results {
		if !result.Promised() {
			other.add(result.Err == nil)
			continue
		}
		theme := result.Theme()
		if byTheme[theme] == nil {
			byTheme[theme] = &count{}
			themes = append(themes, theme)
		}
		byTheme[theme].add(result.Err == nil)
		promised.add(result.Err == nil)
	}
	failed = promised.passed < promised.of
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "\ntheme\tpassed\tof\t\n")
	for _, theme := range themes {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t\n", theme, byTheme[theme].passed, byTheme[theme].of)
	}
	_, _ = fmt.Fprintf(table, "all\t%d\t%d\t\n", promised.passed, promised.of)
	if err := table.Flush(); err != nil {
		return failed, err
	}
	if other.of > 0 {
		_, err = fmt.Fprintf(r.out, "Besides, %d of %d that AWS neither documents clearly nor was recorded with on a known day.\n", other.passed, other.of)
	}
	return failed, err
}

// list prints the checks without running them.
func list(out io.Writer, all []checks.Check) error {
	promised, recorded, slow := 0, 0, 0
	for _, c := range all {
		mark := ""
		if c.Slow {
			mark = " (slow)"
		}
		if c.Undocumented {
			mark += " (undocumented)"
		}
		if c.Reading {
			mark += " (our reading)"
		}
		if c.Promised() {
			promised++
			if c.Slow {
				slow++
			}
			if c.Recorded.Date != "" {
				recorded++
			}
		}
		if _, err := fmt.Fprintf(out, "%s%s\n      %s\n      %s\n", c.ID, mark, c.Must, sources(c, "\n      ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\n%d checks, %d of them slow, %d with a recording of AWS's answer; besides, %d that AWS neither documents clearly nor was recorded with on a known day.\n",
		promised, slow, recorded, len(all)-promised)
	return err
}
