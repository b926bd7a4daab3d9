// Package cases decides how many cases this module's tests run: few in "go test", so that
// it is quick, and many in make nightly.
package cases

import "os"

// Of returns few, or many if the environment variable TEST_MANY is set.
func Of(few, many int) int {
	if os.Getenv("TEST_MANY") != "" {
		return many
	}
	return few
}
