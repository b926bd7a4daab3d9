package servers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// A new record is a claim and a completion, a duplicate is a claim.
func BenchmarkStores(b *testing.B) {
	for name, store := range storesOf(b) {
		b.Run(name+"/new", func(b *testing.B) {
			for i := range b.N {
				once(b, store, fmt.Sprint("new", b.N, "#", i))
			}
		})
		b.Run(name+"/duplicate", func(b *testing.B) {
			once(b, store, fmt.Sprint("again", b.N))
			b.ResetTimer()
			for range b.N {
				once(b, store, fmt.Sprint("again", b.N))
			}
		})
	}
}

func once(b *testing.B, store idempotency.Store, key string) {
	b.Helper()
	found, err := store.Claim(b.Context(), idempotency.Claim{Key: key, Owner: "A", Lease: time.Minute, Remember: time.Hour})
	if err == nil && found.State == idempotency.Claimed {
		err = store.Complete(b.Context(), key, "A", idempotency.Completion{Remember: time.Hour})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func storesOf(b *testing.B) map[string]idempotency.Store {
	b.Helper()
	stores := map[string]idempotency.Store{}
	for _, d := range databases(b) {
		stores[d.name] = migrated(b, d.open(b, nil), d)
	}
	for _, c := range servedBy(b) {
		stores[c.name] = c.store(b, nil)
	}
	return stores
}
