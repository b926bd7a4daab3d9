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

// end prints the counts and reports whether a documented check failed.
func (r report) end(results []checks.Result) (failed bool, err error) {
	const all, besides = "all", ""
	themes := []string{}
	passed, of := map[string]int{}, map[string]int{} // by theme
	for _, result := range results {
		names := []string{besides}
		if result.Promised() {
			names = []string{result.Theme(), all}
			if of[result.Theme()] == 0 {
				themes = append(themes, result.Theme())
			}
		}
		for _, name := range names {
			of[name]++
			if result.Err == nil {
				passed[name]++
			}
		}
	}
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "\ntheme\tpassed\tof\t\n")
	for _, theme := range append(themes, all) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t\n", theme, passed[theme], of[theme])
	}
	err = table.Flush()
	if err == nil && of[besides] > 0 {
		_, err = fmt.Fprintf(r.out, "Besides, %d of %d that AWS neither documents clearly nor was recorded with on a known day.\n", passed[besides], of[besides])
	}
	return passed[all] < of[all], err
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
