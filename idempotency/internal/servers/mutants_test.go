package servers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
	"github.com/sqsbatch/sqsbatch/idempotency/redisstore"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

// A mutant of a store has instead in place of part, in the statement or script with the text where.
type mutant struct{ where, part, instead string }

// findMutants requires that a history shows the mistake of each mutant, and none of the store
// itself. newStore returns a store whose statements or scripts go through change.
func findMutants(t *testing.T, mutants map[string]mutant, newStore func(t *testing.T, change func(string) string) idempotency.Store) {
	t.Helper()
	mutants["no mistake"] = mutant{}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t, func(text string) string {
				if m.part != "" && strings.Contains(text, m.where) {
					text = strings.ReplaceAll(text, m.part, m.instead)
				}
				return text
			})
			c := drawn()
			if m.part != "" {
				c.Histories = 1000 // at most: the first one that shows it is enough
			}
			c.Store = func(f *histories.Faults) idempotency.Store { return f.Around(store) }
			_, illegal := histories.Find(t, c)
			if found := illegal != ""; found != (m.part != "") {
				t.Errorf("found is %v\n%s", found, illegal)
			}
		})
	}
}

// Each part of the statements' conditions matters: without it there is a history that shows it.
// Both databases have the same conditions.
func TestSQL_HistoriesFindConditionsThatAreMissing(t *testing.T) {
	findMutants(t, map[string]mutant{
		"Claim before the end":             {"INSERT", "t.ends < CAST", "0 < CAST"},
		"Claim never after the end":        {"INSERT", "t.ends < CAST", "0 > CAST"},
		"Claim does not change the owner":  {"INSERT", "THEN excluded.owner", "THEN t.owner"},
		"Claim makes others' claim longer": {"INSERT", "t.owner = excluded.owner AND ", ""},
		"Claim of the same owner is short": {"INSERT", " AND t.ends < excluded.ends", ""},
		"Claim of a completion clears it":  {"INSERT", "ELSE t.done END", "ELSE FALSE END"},
		"Claim loses the result":           {"INSERT", "ELSE t.result END", "ELSE NULL END"},
		"Renew by others":                  {"expires = CASE", "owner = ?2 AND", "?2 = ?2 AND"},
		"Renew of a completion":            {"expires = CASE", " AND NOT done", ""},
		"Renew shortens":                   {"expires = CASE", "WHEN ends <", "WHEN 0 <"},
		"Complete by others":               {"done = TRUE", "owner = ?2", "?2 = ?2"},
		"Release by others":                {"DELETE", "owner = ?2", "?2 = ?2"},
		"Release of a completion":          {"DELETE", " AND NOT done", ""},
	}, func(t *testing.T, change func(string) string) idempotency.Store {
		d := sqlite(t)
		migrated(t, d.open(t, nil), d)
		p, db := newProcess(d.connector)
		t.Cleanup(func() { _ = db.Close() })
		p.change = change
		return sqlstore.New(db, d.dialect, table)
	})
}

// The same for the scripts.
func TestRedis_HistoriesFindConditionsThatAreMissing(t *testing.T) {
	if *redisServer == "" {
		return // as servedBy
	}
	client := rawServer(t)
	findMutants(t, map[string]mutant{
		"Claim before the end":             {"new_ends", "ends < now", "true"},
		"Claim never after the end":        {"new_ends", "ends < now", "false"},
		"Claim does not change the owner":  {"new_ends", "owner = ARGV[1], in", "owner = item and item.owner or ARGV[1], in"},
		"Claim makes others' claim longer": {"new_ends", "(not own and not ended)", "false"},
		"Claim of the same owner is short": {"new_ends", "own and ends >= new_ends", "false"},
		"Claim of a completion clears it":  {"new_ends", "not in_progress or (not own and not ended)", "in_progress and not own and not ended"},
		"Renew by others":                  {"in_progress_expiration = now", "not own or", ""},
		"Renew shortens":                   {"in_progress_expiration = now", "ends >= now + ARGV[2]", "false"},
		"Complete by others":               {"COMPLETED", "not own", "not item"},
		"Release by others":                {"DEL", "not own or", ""},
		"Release of a completion":          {"DEL", " or not in_progress", ""},
	}, func(_ *testing.T, change func(string) string) idempotency.Store {
		return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
			return redis.NewScript(change(script)).Run(ctx, client, keys, args).Result()
		})
	})
}
