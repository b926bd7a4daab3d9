package servers_test

import (
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

// Each part of the statements' conditions matters: without it there is a history that shows it.
// Both databases have the same conditions.
func TestSQL_HistoriesFindConditionsThatAreMissing(t *testing.T) {
	for name, m := range map[string]struct{ statement, part, instead string }{
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
		"no mistake":                       {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sqlite(t)
			migrated(t, d.open(t, nil), d)
			p, db := newProcess(d.connector)
			t.Cleanup(func() { _ = db.Close() })
			p.change = func(statement string) string {
				if !strings.Contains(statement, m.statement) || !strings.Contains(statement, m.part) {
					return statement
				}
				return strings.ReplaceAll(statement, m.part, m.instead)
			}
			store := sqlstore.New(db, d.dialect, table)
			c := historiesOf(t, d)
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
