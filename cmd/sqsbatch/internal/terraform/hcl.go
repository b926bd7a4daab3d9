package terraform

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Setting returns what a fix writes in HCL, from the name of CloudFormation's property and its
// value: visibility_timeout_seconds = 180. A nil value means that the attribute goes.
func Setting(property string, value any) string {
	name := cmp.Or(attributes[property], property)
	switch v := value.(type) {
	case nil:
		return "remove " + name
	case map[string]any:
		var inner []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner = append(inner, Setting(key, v[key]))
		}
		return name + " { " + strings.Join(inner, "; ") + " }"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return name
	}
	return name + " = " + strings.ReplaceAll(string(text), `","`, `", "`)
}
