package prometheus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// rules are those of deploy/prometheus.yaml, which Prometheus' own reader takes:
// names, labels, expressions and the templates of annotations.
func rules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile("../../../../deploy/prometheus.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil || t.Failed() {
		t.FailNow()
	}
	list := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			list[r.Alert] = r
		}
	}
	return list
}

// fires returns the first minute at which an alert fires, within 30, or -1.
func fires(t *testing.T, r rulefmt.Rule, series string) int {
	t.Helper()
	return firesScraped(t, r, 30*time.Second, series)
}

// firesScraped is fires with values that are so far apart.
func firesScraped(t *testing.T, r rulefmt.Rule, interval time.Duration, series string) int {
	t.Helper()
	storage := promqltest.LoadedStorage(t, fmt.Sprintf("load %v\n%s", interval, series))
	defer func() { _ = storage.Close() }()
	engine := promqltest.NewTestEngine(t, false, 0, 10_000)
	held := -1 // minutes for which it has been pending
	for minute := range 30 {
		query, err := engine.NewInstantQuery(context.Background(), storage, promql.NewPrometheusQueryOpts(false, 0), r.Expr, time.Unix(int64(60*minute), 0))
		if err != nil {
			t.Fatal(err)
		}
		result := query.Exec(context.Background())
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		vector, err := result.Vector()
		if err != nil {
			t.Fatal(err)
		}
		n := len(vector)
		query.Close()
		if n == 0 {
			held = -1
			continue
		}
		held++
		if time.Duration(held)*time.Minute >= time.Duration(r.For) {
			return minute
		}
	}
	return -1
}

// late is a counter that stands still for five minutes and then grows.
func late(series string) string { return "  " + series + " 0x10 1+1x50\n" }

// still is one that never grows.
func still(series string) string { return "  " + series + " 7x60\n" }

const (
	records  = `sqsbatch_records_total{job="orders", queue="orders", outcome="OUTCOME"}`
	failures = `sqsbatch_call_failures_total{job="orders", queue="orders", operation="OPERATION"}`
	receives = `sqsbatch_calls_total{job="orders", queue="orders", operation="ReceiveMessage"}`
	gauges   = `  sqsbatch_slots{job="orders", queue="orders"} 10x60` + "\n"
	idle     = gauges + `  sqsbatch_running{job="orders", queue="orders"} 0x60` + "\n"
	busy     = gauges + `  sqsbatch_running{job="orders", queue="orders"} 10x60` + "\n"
)

func of(outcome string) string    { return strings.Replace(records, "OUTCOME", outcome, 1) }
func failed(action string) string { return strings.Replace(failures, "OPERATION", action, 1) }

// Each alert with what it fires for, when, and what it does not fire for.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	age := `sqsbatch_message_age_seconds_bucket{job="orders", queue="orders", le="BOUND"}`
	bucket := func(bound string) string { return strings.Replace(age, "BOUND", bound, 1) }
	old := "  " + bucket("1800") + " 0x60\n  " + bucket("3600") + " 0+10x60\n  " + bucket("+Inf") + " 0+10x60\n"
	retried := "  " + bucket("900") + " 0x60\n  " + bucket("1800") + " 0+10x60\n  " + bucket("3600") + " 0+10x60\n  " + bucket("+Inf") + " 0+10x60\n"
	native := `  sqsbatch_message_age_seconds{job="orders", queue="orders"} {{schema:0 sum:20000 count:10 buckets:[10] offset:11}}+{{schema:0 sum:20000 count:10 buckets:[10] offset:11}}x60` + "\n"
	cases := map[string]struct {
		fires  []string
		at     [2]int // between these minutes
		silent []string
	}{
		"SqsbatchDeadLetters":       {[]string{late(of("dead-letter"))}, [2]int{5, 6}, []string{still(of("dead-letter")), late(of("retry")), late(of("dropped"))}},
		"SqsbatchDropped":           {[]string{late(of("dropped"))}, [2]int{5, 6}, []string{still(of("dropped")), late(of("dead-letter"))}},
		"SqsbatchLastAttempt":       {[]string{late(`sqsbatch_records_last_attempt_total{job="orders", queue="orders"}`)}, [2]int{5, 6}, []string{late(of("retry"))}},
		"SqsbatchOldMessages":       {[]string{old, native}, [2]int{5, 7}, []string{retried, ""}},
		"SqsbatchAbandoned":         {[]string{late(of("abandoned"))}, [2]int{5, 6}, []string{late(of("succeeded")), still(of("abandoned"))}},
		"SqsbatchNotStarted":        {[]string{late(of("not-started"))}, [2]int{15, 16}, []string{"  " + of("not-started") + " 0x10 1x50\n"}},
		"SqsbatchDeletesFailing":    {[]string{late(failed("DeleteMessageBatch"))}, [2]int{11, 12}, []string{"  " + failed("DeleteMessageBatch") + " 0x10 5x50\n", late(failed("ReceiveMessage"))}},
		"SqsbatchReceivesFailing":   {[]string{late(failed("ReceiveMessage"))}, [2]int{12, 13}, []string{"  " + failed("ReceiveMessage") + " 0x10 5x50\n"}},
		"SqsbatchVisibilityFailing": {[]string{late(failed("ChangeMessageVisibilityBatch"))}, [2]int{11, 12}, []string{still(failed("ChangeMessageVisibilityBatch"))}},
		"SqsbatchSeriousWarnings":   {[]string{late(`sqsbatch_serious_warnings_total{job="orders", queue="orders"}`)}, [2]int{5, 6}, []string{late(`sqsbatch_warnings_total{job="orders", queue="orders"}`)}},
		"SqsbatchNotPolling":        {[]string{still(receives) + idle}, [2]int{5, 6}, []string{"  " + receives + " 0+1x60\n" + idle, still(receives) + busy}},
		"SqsbatchNoProcess":         {[]string{""}, [2]int{5, 5}, []string{idle}},
	}
	all := rules(t)
	for name, r := range all {
		c, ok := cases[name]
		if !ok {
			t.Errorf("%s has no case", name)
			continue
		}
		for _, series := range c.fires {
			if at := fires(t, r, series); at < c.at[0] || at > c.at[1] {
				t.Errorf("%s fires after %d minutes, want %v, for\n%s", name, at, c.at, series)
			}
		}
		for _, series := range c.silent {
			if at := fires(t, r, series); at >= 0 {
				t.Errorf("%s fires after %d minutes for\n%s", name, at, series)
			}
		}
		if r.Labels["severity"] != "page" && r.Labels["severity"] != "ticket" || r.Annotations["summary"] == "" {
			t.Errorf("%s: labels %v, annotations %v", name, r.Labels, r.Annotations)
		}
	}
	for name := range cases {
		if _, ok := all[name]; !ok {
			t.Errorf("there is no alert %s", name)
		}
	}
}

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
