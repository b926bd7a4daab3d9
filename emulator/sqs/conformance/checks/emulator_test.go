package checks_test

import (
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs/conformance/checks"
)

// The emulator of this module passes every check; virtual time makes the slow
// ones quick.
func TestEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{})
		defer server.Close()
		results, err := checks.Run(t.Context(), checks.Config{Client: newClient(server, nil), Slow: true, Parallel: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != len(checks.All()) {
			t.Errorf("%d results for %d checks", len(results), len(checks.All()))
		}
		for _, r := range results {
			if r.Err != nil {
				t.Errorf("%s: %s\n\t%v", r.ID, r.Must, r.Err)
			}
			if r.Leftover != nil {
				t.Errorf("%s: %v", r.ID, r.Leftover)
			}
		}
	})
}
