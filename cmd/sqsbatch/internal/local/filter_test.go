package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

var filtering = []string{"testdata/foreign", "--template", "testdata/filter.yaml", "--once", "--timeout", "1m", "-"}

const filterable = `{"status":"paid"}` + "\n" + `{"status":"open"}` + "\npaid 7\nopen 8\n"

// TestFilterCriteria: what matches no filter of the event is deleted, the
// function never sees it, and it is neither a success nor a loss.
func TestFilterCriteria(t *testing.T) {
	t.Parallel()
	lines := done(t, filterable, filtering...)
	checkFates(t, lines, map[string][]string{
		`{"status":"paid"}`: {"1 succeeded"}, "paid 7": {"1 succeeded"},
		`{"status":"open"}`: {"1 filtered"}, "open 8": {"1 filtered"},
	})
	invoked := 0
	for _, l := range lines {
		if l.Outcome == "filtered" && (!strings.Contains(l.Reason, "matches no filter") || l.VisibleInMs != nil) {
			t.Errorf("%+v", l)
		}
		invoked += l.Records
	}
	if invoked != 2 {
		t.Errorf("%d records reached the function", invoked)
	}
	if s := summary(t, lines); s.Sent != 4 || s.Succeeded != 2 || s.Filtered != 2 || s.Lost+s.Removed+s.Remaining != 0 {
		t.Errorf("summary: %+v", s)
	}
}

// The filters are shown, and what became of the messages.
func TestFilterCriteriaForPeople(t *testing.T) {
	t.Parallel()
	text := shown(t, filterable, filtering...)
	golden.Says(t, "the output", text,
		`filter       {"body": {"status": ["paid"]}}`,
		"open 8            it matches no filter of the event: deleted, the function never sees it",
		"4 messages sent: 2 succeeded, 2 filtered out ",
	)
	for _, w := range []string{"got open", "warning"} {
		if strings.Contains(text, w) {
			t.Errorf("the output says %q:\n%s", w, text)
		}
	}
}

func TestWrongFilterCriteria(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("testdata", "filter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const second = `'{"body": [{"prefix": "paid "}]}'`
	for wrong, want := range map[string][]string{
		`'{"body": "paid"}'`:          {"wrong.yaml:21: function Foreign, event Work: filter 2 of FilterCriteria", `{"body": "paid"}: pattern.body: need a list`, "Correct it, as in"},
		`'{"body": {"a": [{"x":1}]}'`: {"wrong.yaml:21: function Foreign, event Work: filter 2", "not JSON"},
		`'{"messageId": ["1"]}'`:      {"filter 2", `filtered by their "body" only`},
		`{body: [paid]}`:              {"wrong.yaml:21: the Pattern of filter 2 of event Work of Foreign is a mapping; it must be a string of JSON"},
		`!Ref AWS::NoValue`:           {"filter 2 of event Work of Foreign has no Pattern; give one"},
	} {
		path := golden.File(t, "wrong.yaml", strings.Replace(string(good), second, wrong, 1))
		_, _, err := output(t, "", "testdata/foreign", "--template", path, "--no-samples", "--timeout", "1m")
		golden.Says(t, wrong, fmt.Sprint(err), want...)
	}
}
