package prometheus

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// started is when a process began, which client_golang's process collector tells.
const started = "process_start_time_seconds"

// A single event before the first scrape has no increase, and must be seen.
func TestAlertsSeeWhatHappensBeforeTheFirstScrape(t *testing.T) {
	all := rules(t)
	for name, counter := range map[string]string{
		"SqsbatchDeadLetters":     of("dead-letter"),
		"SqsbatchDropped":         of("dropped"),
		"SqsbatchLastAttempt":     `sqsbatch_records_last_attempt_total{job="orders", queue="orders"}`,
		"SqsbatchAbandoned":       of("abandoned"),
		"SqsbatchSeriousWarnings": `sqsbatch_serious_warnings_total{job="orders", queue="orders"}`,
	} {
		// A process: the counter's and the start's values, one each 30 s.
		process := func(instance, values, start string) string {
			c := strings.Replace(counter, "}", `, instance="`+instance+`"}`, 1)
			return "  " + c + " " + values + "\n  " + started + `{job="orders", instance="` + instance + `"} ` + start + "\n"
		}
		cases := map[string]struct {
			series string
			at     [2]int // between these minutes, -1 for never
		}{
			"3 before the first scrape":         {process("a", "_x10 3x50", "_x10 290x50"), [2]int{5, 6}},
			"a crash loop, one scrape each":     {process("a", "_x10 3 _x50", "_x10 290 _x50") + process("b", "_x20 3 _x40", "_x20 590 _x40"), [2]int{5, 6}},
			"a crash loop at the same address":  {process("a", "_x10 3 _x5 3 _x5 3 _x40", "_x10 290 _x5 470 _x5 650 _x40"), [2]int{5, 6}},
			"first at 0, then 1 and the end":    {process("a", "_x10 0 0 1 _x40", "_x10 290 290 290 _x40"), [2]int{6, 7}},
			"an old process":                    {process("a", "0x10 1x50", "-9000x60"), [2]int{5, 6}},
			"1, restarted before it is seen":    {process("a", "7x10 8 0x50", "-9000x10 -9000 320x50"), [2]int{5, 6}},
			"no process collector":              {late(counter), [2]int{5, 6}},
			"begins with 0":                     {process("a", "_x10 0x50", "_x10 290x50"), [2]int{-1, -1}},
			"stands":                            {process("a", "7x60", "-9000x60"), [2]int{-1, -1}},
			"stands, restarted at that address": {process("a", "7x10 0x50", "-9000x10 290x50"), [2]int{-1, -1}},
			"stands, another begins":            {process("a", "7x60", "-9000x60") + process("b", "_x10 0x50", "_x10 290x50"), [2]int{-1, -1}},
		}
		for what, c := range cases {
			if at := fires(t, all[name], c.series); at < c.at[0] || at > c.at[1] {
				t.Errorf("%s: %s: fires after %d minutes, want %v", name, what, at, c.at)
			}
		}
		// Young for ten minutes, and no alert of it after that.
		r := all[name]
		r.For = model.Duration(12 * time.Minute)
		if at := fires(t, r, process("a", "_x10 3x50", "_x10 290x50")); at >= 0 {
			t.Errorf("%s: still fires after %d minutes for 3 in the first scrape", name, at)
		}
	}
}

// At a scrape a minute, each sixth missed: a page for what lasts, none if it ends.
func TestAlertsOnCallsBearMissedScrapes(t *testing.T) {
	all := rules(t)
	for name, operation := range map[string]string{
		"SqsbatchDeletesFailing": "DeleteMessageBatch", "SqsbatchReceivesFailing": "ReceiveMessage", "SqsbatchVisibilityFailing": "ChangeMessageVisibilityBatch",
	} {
		lasts := "  " + failed(operation) + " 0x5 3+3x3 _ 18+3x4 _ 36+3x4 _ 54+3x4 _ 72+3x4\n"
		if at := firesScraped(t, all[name], time.Minute, lasts); at < 6 || at > 14 {
			t.Errorf("%s: fires after %d minutes", name, at)
		}
		over := "  " + failed(operation) + " 0x5 30x3 _ 30x4 _ 30x4 _ 30x4 _ 30x4\n"
		if at := firesScraped(t, all[name], time.Minute, over); at >= 0 {
			t.Errorf("%s: fires after %d minutes for what was over at once", name, at)
		}
	}
}
