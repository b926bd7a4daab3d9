package sqlstore_test

import (
	"context"
	"log"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

// A container deletes rows that have expired, each hour. On Lambda a function with a schedule
// does the same without the ticker.
func ExampleStore_DeleteExpired() {
	var ctx context.Context
	var store *sqlstore.Store

	deleteExpired := func() error {
		const limit = 1000
		for {
			deleted, err := store.DeleteExpired(ctx, limit)
			if err != nil || deleted < limit {
				return err
			}
		}
	}
	for range time.Tick(time.Hour) {
		if err := deleteExpired(); err != nil {
			log.Print(err)
		}
	}
}
