package local_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// The same records in both modes, with a function that writes its own metrics.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"lambda", "poll"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "metrics.json")
			text := shown(t, orders(20, "ok")+"broken\n", filepath.Join(root, "examples", "orders"), "--template", own, "--mode", mode, "--once", "--timeout", "2m", "--metrics", file, "-")
			data, r := metrics(t, file)
			if r.Mode != mode || r.Handled != 21 || r.Outcomes["succeeded"] != 20 || r.Outcomes["dead-letter"] != 1 || r.Redriven != 0 {
				t.Errorf("%s", data)
			}
			for name, d := range map[string]*track.Distribution{"duration": r.DurationMs, "deadline": r.DeadlineUsedPercent, "attempts": r.Attempts, "age": r.AgeMs} {
				if d == nil || d.Count != 21 || d.Min > d.P50 || d.P50 > d.P90 || d.P90 > d.P99 || d.P99 > d.Max {
					t.Errorf("%s: %+v", name, d)
				}
			}
			if r.AgeMs.Min <= 0 || r.Attempts.Max != 1 {
				t.Errorf("%s", data)
			}
			if r.Calls["SendMessage"].Calls != 0 || r.Calls["SendMessageBatch"] != (track.Calls{Calls: 1, Messages: 1}) ||
				r.Calls["ReceiveMessage"].Messages != 21 || r.Calls["DeleteMessageBatch"].Messages != 21 {
				t.Errorf("calls: %+v", r.Calls)
			}
			if (r.Invocations == nil) != (mode == "poll") || (r.Processes == nil) == (mode == "poll") {
				t.Errorf("%s", data)
			}
			own := r.EMF.Metrics["sqsbatch"]
			if own["RecordsSucceeded"].Sum != 20 || own["RecordsDeadLettered"].Sum != 1 || own["RecordDuration"].Count != 21 {
				t.Errorf("the function's own: %+v", r.EMF)
			}
			golden.Says(t, "the output", text, "21 deliveries: 20 succeeded, 1 dead-letter\n", "\nduration ", "\ndeadline used ", "\nage ", "\ncalls ")
			if strings.Contains(text, "_aws") {
				t.Errorf("lines of metrics are shown:\n%s", text)
			}
		})
	}
}

// metrics returns the content of the file of --metrics.
func metrics(t *testing.T, file string) (data []byte, r track.Report) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return data, r
}

// A file that cannot be written is reported before the run. A run that fails writes its metrics.
func TestMetricsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"--template", own, "--once"}
	ended := append(slices.Clone(args), "--timeout", "1500ms", "--metrics", filepath.Join(dir, "metrics.json"))
	if _, err := run(t, "", append(slices.Clone(args), "--metrics", dir)...); err == nil || !strings.Contains(err.Error(), "--metrics") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := run(t, "", append(slices.Clone(args), "--metrics", "-")...); err == nil || !strings.Contains(err.Error(), "--output json") {
		t.Errorf("standard output: %v", err)
	}
	lines, err := run(t, "", ended...)
	if err == nil || !strings.Contains(err.Error(), "--timeout") {
		t.Fatalf("%v", err)
	}
	data, r := metrics(t, ended[len(ended)-1])
	if r.Handled == 0 || r.ElapsedMs < 1000 {
		t.Errorf("%s", data)
	}
	if n := len(ofType(lines, "metrics")); n != 1 || lines[len(lines)-2].Type != "metrics" {
		t.Errorf("%d lines of metrics, want one before the summary", n)
	}
}

// TestMetricsAreDocumented: the help has every name in the file.
func TestMetricsAreDocumented(t *testing.T) {
	var names func(t reflect.Type) []string
	names = func(of reflect.Type) (list []string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return nil
		}
		for i := range of.NumField() {
			f := of.Field(i)
			if name := f.Tag.Get("json"); name != "" {
				list = append(list, name)
			}
			list = append(list, names(f.Type)...)
		}
		return list
	}
	_, help, _ := strings.Cut(shown(t, "", "-h"), "\nMetrics:\n")
	help, _, _ = strings.Cut(help, "\n\n")
	for _, name := range names(reflect.TypeFor[track.Report]()) {
		if !slices.Contains(strings.FieldsFunc(help, func(r rune) bool { return strings.ContainsRune(" ,;:()\n", r) }), name) {
			t.Errorf("%s is not in the help of --metrics", name)
		}
	}
}
