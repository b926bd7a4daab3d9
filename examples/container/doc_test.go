package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

const docs = "../../docs/"

// block is the only block of JSON on a page that begins with the given text.
func block(t *testing.T, page, start string) string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```\n").FindAllStringSubmatch(docpage.Read(t, docs+page), -1) {
		if strings.HasPrefix(m[1], start) {
			found = append(found, m[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of JSON that begin with %s, want 1", page, len(found), start)
	}
	return found[0]
}

// The policy allows what a process asks of SQS, and nothing else.
func TestThePolicyAllowsWhatIsAsked(t *testing.T) {
	var policy struct {
		Statement []struct{ Action []string }
	}
	if err := json.Unmarshal([]byte(block(t, "containers.md", `{
  "Version"`)), &policy); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, s := range policy.Statement {
		for _, a := range s.Action {
			allowed[a] = true
		}
	}
	_, operations := eventful(t)
	asked := map[string]bool{}
	for o := range operations {
		asked["sqs:"+strings.TrimSuffix(o, "Batch")] = true // "SQS API permissions": as the single operation
	}
	if !maps.Equal(asked, allowed) {
		t.Errorf("asked for\n %v\nallowed\n %v", slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(allowed)))
	}
}

// general is a message of the log without the queue's name, numbers and times.
func general(message string) string {
	message = regexp.MustCompile(`queue \S+:`).ReplaceAllString(message, "queue:")
	return regexp.MustCompile(`[0-9][0-9.]*m?s?`).ReplaceAllString(message, "0")
}

// The warnings of trouble that lasts are such as a process writes.
func TestTheWarningsAreReal(t *testing.T) {
	real := map[string]bool{}
	for _, message := range troubled(t) {
		real[general(message)] = true
	}
	_, block, _ := strings.Cut(docpage.Read(t, docs+"container-log.md"), "```text\n")
	block, _, _ = strings.Cut(block, "```")
	if block == "" {
		t.Fatal("the page shows no warnings")
	}
	for line := range strings.Lines(block) {
		if !real[general(strings.TrimSpace(line))] {
			t.Errorf("no process writes\n%sbut\n%s", line, strings.Join(slices.Sorted(maps.Keys(real)), "\n"))
		}
	}
}

// The lines of the log are such as a process writes.
func TestTheLogIsReal(t *testing.T) {
	shape := func(l map[string]any) string {
		message, _ := l["message"].(string)
		message = general(message)
		outcome, _ := l["outcome"].(string)
		return message + " " + outcome + " " + strings.Join(slices.Sorted(maps.Keys(l)), " ")
	}
	real := map[string]bool{}
	lines, _ := eventful(t)
	for _, l := range lines {
		real[shape(l)] = true
	}
	for text := range strings.Lines(block(t, "container-log.md", `{"timestamp"`)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !real[shape(l)] {
			t.Errorf("no process writes a line like\n%s%s\nbut\n%s", text, shape(l), strings.Join(slices.Sorted(maps.Keys(real)), "\n"))
		}
	}
}

// The status has every field, and no other.
func TestTheStatusIsReal(t *testing.T) {
	text := block(t, "containers.md", "[{")
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	var status []longpoll.Status
	if err := d.Decode(&status); err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var shown, all any
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(whole, &all); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(shown, all) {
		t.Errorf("the page has\n%v\nwant\n%v", shown, all)
	}
}
