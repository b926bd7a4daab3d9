package idempotency_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// The digests are what Powertools 3.37.0 (Python) and 2.35.0 (TypeScript) store.
func TestHash_IsPowertools(t *testing.T) {
	for key, want := range map[string][2]string{
		"abc":                      {"ebd9f4c7b06cb0aaf5d13d80e49d8b90", "69n0x7BssKr10T2A5J2LkA=="},
		"é\"\\\n\t<>&":             {"414e2e9b931afaf913f043e1e406fe04", "ZJzLWIIP7E2m+i8BnYTQ7w=="},
		"日本😀":                      {"5eaae0b493734ce8c7ed3de19a65d433", "Lxs7O8Xpd7GofvfSGBtj/A=="},
		"a\u2028b\u007f\u0001\b\f": {"69362181d9d94b037cda27cdbc3853a7", "BajW7ieA8t8PqBGak/KHcg=="},
	} {
		if got := idempotency.PowertoolsPython(key); got != want[0] {
			t.Errorf("Python: %q is %s, want %s", key, got, want[0])
		}
		if got := idempotency.PowertoolsTypeScript(key); got != want[1] {
			t.Errorf("TypeScript: %q is %s, want %s", key, got, want[1])
		}
	}
}
