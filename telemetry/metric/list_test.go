package metric_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Names are valid and unique, and each metric says what to do about it.
func TestTheListIsSound(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z][A-Za-z]{1,40}$`)
	names, labels := map[string]bool{}, map[string]bool{}
	kinds := map[string]*metric.Metric{}
	for i, m := range metric.All {
		if m.Index() != i || metric.ByName(m.Name) != m {
			t.Errorf("%s has the index %d, and is number %d", m.Name, m.Index(), i)
		}
		if !name.MatchString(m.Name) || names[m.Name] {
			t.Errorf("%q is no name, or is there twice", m.Name)
		}
		names[m.Name] = true
		key := m.Family + "/" + m.Value
		if labels[key] || (m.Label == "") != (m.Value == "") || m.Label == "" && m.Family != m.Name {
			t.Errorf("%s: family %q, label %q, value %q", m.Name, m.Family, m.Label, m.Value)
		}
		labels[key] = true
		if first := kinds[m.Family]; first == nil {
			kinds[m.Family] = m
		} else if first.Kind != m.Kind || first.Unit != m.Unit || first.Label != m.Label {
			t.Errorf("%s and %s are of one family and differ", m.Name, first.Name)
		}
		if !slices.Contains([]metric.Unit{metric.Count, metric.Milliseconds, metric.Seconds, metric.Percent, metric.Bytes}, m.Unit) {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		if len(m.Help) < 40 || !strings.HasSuffix(m.Help, ".") {
			t.Errorf("%s: %q", m.Name, m.Help)
		}
	}
	if metric.ByName("None") != nil {
		t.Error("there is a metric that there is not")
	}
}
