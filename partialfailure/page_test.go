package partialfailure_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// docs/observability/dead-letters.md shows an attribute as it is written, and explains
// each of its keys.
func TestThePageHasTheAttribute(t *testing.T) {
	page := docpage.Read(t, "../docs/observability/dead-letters.md")
	shown := regexp.MustCompile("```json\n(.*)\n```").FindStringSubmatch(page)
	if shown == nil {
		t.Fatal("the page shows no attribute")
	}
	origin, err := partialfailure.ParseOrigin(shown[1])
	if err != nil {
		t.Fatal(err)
	}
	if written, ok := origin.Value(1 << 10); !ok || strings.TrimSpace(written) != shown[1] {
		t.Errorf("the page has\n%s\nwritten is\n%s", shown[1], written)
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(shown[1]), &keys); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(page, "| key | meaning |")
	table, _, _ = strings.Cut(table, "\n\n")
	var explained []string
	for _, row := range strings.Split(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for _, key := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cell, -1) {
			explained = append(explained, key[1])
		}
	}
	slices.Sort(explained)
	if want := slices.Sorted(maps.Keys(keys)); !slices.Equal(explained, want) {
		t.Errorf("the table explains %v, the attribute has %v", explained, want)
	}
}
