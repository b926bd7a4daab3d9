package simulate

import (
	"fmt"
	"reflect"
	"strings"
)

// fields prints a struct's fields that are not zero: "Name=orders BatchSize=10".
func fields(v any) string {
	value := reflect.ValueOf(v)
	var parts []string
	for i := range value.NumField() {
		field := value.Field(i)
		if field.IsZero() {
			continue
		}
		name := value.Type().Field(i).Name
		if field.Kind() == reflect.Bool {
			parts = append(parts, name)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%v", name, field.Interface()))
	}
	return strings.Join(parts, " ")
}
