package simulate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// written runs the command and returns its page.
func written(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if status, _, stderr := simulated(t, append(args, "--html", path)...); status != 0 {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(path)
	golden.OK(t, err)
	return string(text)
}

var (
	inline  = regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)
	outside = regexp.MustCompile(`(?i)(?:src|href|action)\s*=|url\(|@import|fetch\(|XMLHttpRequest`)
	data    = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
)

// The page has its script and its style within, and its policy allows these and nothing else.
func TestPage_AsksForNothing(t *testing.T) {
	page := written(t, "--rate", "5/s", "--fail", "10%", "--outage", "5m@10m")
	blocks := inline.FindAllStringSubmatch(page, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of script and style", len(blocks))
	}
	_, policy, _ := strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ = strings.Cut(policy, `"`)
	for _, b := range blocks {
		if want := b[1] + "-src " + strings.ReplaceAll(strings.ReplaceAll(hash(b[2]), "+", "&#43;"), "'", "&#39;"); !strings.Contains(policy, want) {
			t.Errorf("the policy %s has no %s", policy, want)
		}
		if found := outside.FindString(b[2]); found != "" && !strings.Contains(b[2], "uPlot=function") {
			t.Errorf("the %s has %q", b[1], found)
		}
	}
	for _, want := range []string{"default-src &#39;none&#39;", "Copyright (c) 2022 Leon Sorokin", "/*! https://github.com/leeoniya/uPlot (v1.6.32) */"} {
		golden.Says(t, "the page", page, want)
	}
	if rest := inline.ReplaceAllString(page, ""); outside.MatchString(rest) {
		t.Errorf("the page loads something: %q", outside.FindString(rest))
	}
}

// The data of the plots are those of the report, and every plot has a figure.
func TestPage_HasAllPlots(t *testing.T) {
	for name, args := range map[string][]string{
		"one run":      {"--rate", "5/s", "--outage", "5m@10m"},
		"several runs": {"--rate", "5/s", "--vary", "MaximumConcurrency=2,5"},
	} {
		page := written(t, args...)
		found := data.FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("%s: no data", name)
		}
		var plots []plotData
		golden.OK(t, json.Unmarshal([]byte(found[1]), &plots))
		if n := strings.Count(page, "<figure>"); n != len(plots) || n == 0 {
			t.Errorf("%s: %d figures and %d plots", name, n, len(plots))
		}
		for _, p := range plots {
			for _, s := range p.Series {
				if len(s.Values) != len(p.X) || len(p.X) == 0 {
					t.Errorf("%s: %s has %d times and %d values of %s", name, p.Title, len(p.X), len(s.Values), s.Name)
				}
			}
		}
	}
}

// Names from outside are text on the page.
func TestPage_EscapesNames(t *testing.T) {
	text, err := os.ReadFile(own)
	golden.OK(t, err)
	path := golden.File(t, "template.yaml", strings.ReplaceAll(string(text), "OldestMessageAlarm", "Oldest<img src=x>Alarm"))
	page := written(t, "--rate", "20/s", "--duration", "9s", "--set", "MaximumConcurrency=2", "--set", "OldestMessageSeconds=60", path)
	if strings.Contains(page, "<img") || !strings.Contains(page, "Oldest&lt;img") {
		t.Error("the name of an alarm is not escaped")
	}
}
