package cli

import (
	"errors"
	"slices"
	"strings"
)

// Assignments is a flag that collects KEY=VALUE and may be repeated.
type Assignments map[string]string

func (a Assignments) String() string { return "" }

// Type implements pflag.Value.
func (a Assignments) Type() string { return "KEY=VALUE" }

// Set implements pflag.Value. One argument may have several, separated by blanks.
func (a Assignments) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" || strings.ContainsAny(key, " \t") {
		return errors.New("it must be written as KEY=VALUE")
	}
	plain := func(field string) bool { return strings.Index(field, "=") < 1 }
	if fields := strings.Fields(value); len(fields) > 1 && !slices.ContainsFunc(fields[1:], plain) {
		a[key] = fields[0]
		for _, f := range fields[1:] {
			if err := a.Set(f); err != nil {
				return err
			}
		}
		return nil
	}
	a[key] = value
	return nil
}
