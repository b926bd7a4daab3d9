package cli

import (
	"errors"
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
	if fields := strings.Fields(value); len(fields) > 1 && allAssign(fields[1:]) {
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

func allAssign(fields []string) bool {
	for _, f := range fields {
		if i := strings.Index(f, "="); i < 1 {
			return false
		}
	}
	return true
}
