package settings_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// The page has a row for each setting, which says where it counts, what it may be, and its default.
func TestConfigurationPage_HasEverySetting(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `?([^|` ]*)`? *\\| `(SQSBATCH_[A-Z_]+)` \\| ([LC ]+) \\| ([^|]+) \\| ([^|]+) \\|")
	onPage, defaults, fields := map[string]string{}, map[string]string{}, map[string]string{}
	for _, m := range rows.FindAllStringSubmatch(docpage.Read(t, "../../docs/configuration.md"), -1) {
		if onPage[m[2]] != "" {
			t.Errorf("%s has two rows", m[2])
		}
		fields[m[2]], onPage[m[2]], defaults[m[2]] = m[1], m[3]+", "+m[4], m[5]
	}
	for _, s := range settings.All {
		var where []string
		if s.On&settings.Lambda != 0 {
			where = append(where, "L")
		}
		if s.On&settings.Container != 0 {
			where = append(where, "C")
		}
		values, _, _ := strings.Cut(s.Must(), ", like")
		values = strings.TrimPrefix(values, "a whole number from ")
		values = strings.Replace(values, "a duration above 0 and up to", "above 0, up to", 1)
		if s.Kind == settings.Choice {
			values = strings.Join(s.Choices, ", ")
		}
		if want := strings.Join(where, " ") + ", " + values; onPage[s.Name] != want {
			t.Errorf("the row of %s says %q, want %q", s.Name, onPage[s.Name], want)
		}
		if fields[s.Name] != s.Field {
			t.Errorf("the field of %s is %q on the page, want %q", s.Name, fields[s.Name], s.Field)
		}
		if s.Default != "–" && !strings.Contains(defaults[s.Name], s.Default) {
			t.Errorf("the default of %s is %q on the page, which has no %q", s.Name, defaults[s.Name], s.Default)
		}
	}
	if len(onPage) != len(settings.All) {
		t.Errorf("the page has %d settings, there are %d", len(onPage), len(settings.All))
	}
}
