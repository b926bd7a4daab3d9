package deploy_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

const (
	root     = "../"
	runbooks = root + "docs/runbooks/"
)

var link = regexp.MustCompile(`https://github\.com/sqsbatch/sqsbatch/blob/main/docs/runbooks/([a-z-]+)\.md`)

// alarms are all of the templates and of Prometheus, with their runbooks.
func alarms(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	add := func(name, text string) {
		found := link.FindAllStringSubmatch(text, -1)
		if len(found) != 1 {
			t.Errorf("%s links to %d runbooks: %q", name, len(found), text)
			return
		}
		if earlier, ok := list[name]; ok && earlier != found[0][1] {
			t.Errorf("%s links to %s and to %s", name, earlier, found[0][1])
		}
		list[name] = found[0][1]
	}
	for _, file := range []string{"template.yaml", "deploy/queue.yaml", "deploy/monitoring.yaml"} {
		before := len(list)
		for name, r := range at(t, load(t, root+file), "Resources").(map[string]any) {
			if at(t, r, "Type") != "AWS::CloudWatch::Alarm" {
				continue
			}
			p := at(t, r, "Properties").(map[string]any)
			add(name, fmt.Sprint(p["AlarmDescription"]))
			if m := fmt.Sprint(p["MetricName"]); !strings.HasPrefix(fmt.Sprint(p["Namespace"]), "AWS/") && metric.ByName(m) == nil {
				t.Errorf("%s: %s: there is no metric %s", file, name, m)
			}
			if p["TreatMissingData"] != "notBreaching" {
				t.Errorf("%s: %s: nothing to tell would be an alarm", file, name)
			}
		}
		if len(list) == before && file != "deploy/queue.yaml" {
			t.Errorf("%s has no alarm", file)
		}
	}
	for _, g := range at(t, load(t, "prometheus.yaml"), "groups").([]any) {
		for _, r := range at(t, g, "rules").([]any) {
			add(at(t, r, "alert").(string), at(t, r, "annotations", "runbook_url").(string))
		}
	}
	return list
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(runbooks + "*.md")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	list := map[string]string{}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "README" {
			list[name] = docpage.Read(t, file)
		}
	}
	return list
}

func TestEveryAlarmHasARunbookAndEveryRunbookAnAlarm(t *testing.T) {
	list, pages := alarms(t), pages(t)
	index := docpage.Read(t, runbooks+"README.md")
	for alarm, page := range list {
		first, _, _ := strings.Cut(pages[page], "## ")
		if !strings.Contains(first, "`"+alarm+"`") {
			t.Errorf("%s links to %s.md, which is not there or does not begin with it", alarm, page)
		}
	}
	for name, text := range pages {
		first, _, _ := strings.Cut(text, "## ")
		named := regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(first, -1)
		if len(named) == 0 {
			t.Errorf("%s is for no alarm", name)
		}
		for _, alarm := range named {
			if list[alarm[1]] != name {
				t.Errorf("%s is for %s, which links to %q", name, alarm[1], list[alarm[1]])
			}
		}
		if !strings.Contains(index, "]("+name+".md)") {
			t.Errorf("README.md does not list %s", name)
		}
	}
}

// What runbooks quote of the log (`"…"`) is in the code; their metrics exist.
func TestRunbooksNameWhatThereIs(t *testing.T) {
	code := source(t)
	quoted, name := regexp.MustCompile("`\"([^`]+)\"`"), regexp.MustCompile("`(Records[A-Za-z]+|[A-Z][a-z]+(?:Failures|Calls|Running|Age|Used))`")
	for page, text := range pages(t) {
		text = strings.Join(strings.Fields(text), " ")
		for _, q := range quoted.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(code, q[1]) {
				t.Errorf("%s quotes %q, which the code does not say", page, q[1])
			}
		}
		for _, n := range name.FindAllStringSubmatch(text, -1) {
			if metric.ByName(n[1]) == nil {
				t.Errorf("%s: there is no metric %s", page, n[1])
			}
		}
	}
}

// source is the code that writes the log.
func source(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"batch", "partialfailure", "internal/settle", "internal/longpoll", "handler", "internal/runner", "internal/sqserror"} {
		err := filepath.WalkDir(root+dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				all.WriteString(docpage.Read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
