package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Dialect is the SQL of a database.
type Dialect uint8

const (
	// PostgreSQL is PostgreSQL 13 or later, and what is compatible with it, such as Aurora.
	PostgreSQL Dialect = iota + 1
	// SQLite is SQLite 3.42 or later.
	SQLite
)

func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// now is the time in milliseconds since 1970. It is the same wherever it is in a statement: that
// of the statement's begin in PostgreSQL, and not of its transaction's.
func (d Dialect) now() string {
	if d == SQLite {
		return "CAST(unixepoch('subsec') * 1000 + 0.5 AS INTEGER)"
	}
	return "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)"
}

// bytes is the type of bytes.
func (d Dialect) bytes() string {
	if d == SQLite {
		return "BLOB"
	}
	return "bytea"
}

// txOptions returns the isolation of transactions in which a claim is completed. A stricter
// one fails once the claim was renewed meanwhile. SQLite has only one.
func (d Dialect) txOptions() *sql.TxOptions {
	if d == SQLite {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// lock has concurrent migrations wait for each other: CREATE IF NOT EXISTS alone may fail in
// PostgreSQL. SQLite has one writer at a time anyway.
func (d Dialect) lock() []string {
	if d == SQLite {
		return nil
	}
	return []string{"SELECT pg_advisory_xact_lock(5748291034)"}
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,50}(\.[A-Za-z_][A-Za-z0-9_]{0,50})?$`)

func validate(d Dialect, table string) error {
	var errs []error
	if d != PostgreSQL && d != SQLite {
		errs = append(errs, fmt.Errorf("sqlstore: the dialect is %v, must be PostgreSQL or SQLite", d))
	}
	if !name.MatchString(table) || d == SQLite && strings.Contains(table, ".") {
		errs = append(errs, fmt.Errorf("sqlstore: the table is %q, must be a name of letters, digits and _, at most 51, in PostgreSQL also with a schema before it", table))
	}
	return errors.Join(errs...)
}

// quoted has the name of a table mean the same in statements as in Go, also "Orders" and "order".
func quoted(table string) string { return `"` + strings.ReplaceAll(table, ".", `"."`) + `"` }

// Schema is the SQL that creates a table and its index unless they are there, for migrations
// of your own. It is empty if the dialect or the name is wrong, see [New].
func Schema(d Dialect, table string) string {
	if validate(d, table) != nil {
		return ""
	}
	return strings.Join(schema(d, table), ";\n\n") + ";\n"
}

func schema(d Dialect, table string) []string {
	_, index, _ := strings.Cut(table, ".")
	if index == "" {
		index = table
	}
	return []string{
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
	key     %[2]s PRIMARY KEY,
	owner   text NOT NULL,
	done    boolean NOT NULL,
	ends    bigint NOT NULL,
	expires bigint NOT NULL,
	content text,
	result  %[2]s
)`, quoted(table), d.bytes()),
		fmt.Sprintf(`CREATE INDEX IF NOT EXISTS "%s_expires" ON %s (expires)`, index, quoted(table)),
	}
}

// statements are those of a store, which take a key as $1 and an owner as $2.
type statements struct{ claim, renew, complete, completeFirst, release, deleteExpired string }

// Statements that both databases understand. A key is free when its row's end is over, of a
// claim or of a completion. {free} and {own} are conditions on the row that a claim finds.
const (
	free = "t.ends < {now}"
	own  = "(NOT t.done AND t.owner = excluded.owner AND t.ends < excluded.ends)"

	// A claim writes the row that it finds even if it is refused, so that one statement judges
	// the row, changes it and returns it.
	claim = `INSERT INTO {table} AS t (key, owner, done, ends, expires, content, result)
VALUES ($1, $2, FALSE, {now} + $3, {now} + $3 + $4, $5, NULL)
ON CONFLICT (key) DO UPDATE SET
	owner   = CASE WHEN {free} THEN excluded.owner ELSE t.owner END,
	done    = CASE WHEN {free} THEN FALSE ELSE t.done END,
	ends    = CASE WHEN {free} OR {own} THEN excluded.ends ELSE t.ends END,
	expires = CASE WHEN {free} OR {own} THEN excluded.expires ELSE t.expires END,
	content = CASE WHEN {free} THEN excluded.content ELSE t.content END,
	result  = CASE WHEN {free} THEN NULL ELSE t.result END
RETURNING owner, done, ends - {now}, content, result IS NOT NULL, result`

	// expires stays as long after ends as it was. It is computed from the old ends.
	renew = `UPDATE {table} SET
	expires = CASE WHEN ends < {now} + $3 THEN expires - ends + {now} + $3 ELSE expires END,
	ends    = CASE WHEN ends < {now} + $3 THEN {now} + $3 ELSE ends END
WHERE key = $1 AND owner = $2 AND NOT done`

	complete = `UPDATE {table} SET
	done = TRUE, ends = {now} + $3, expires = {now} + $3, content = COALESCE($4, content), result = $5
WHERE key = $1 AND owner = $2`

	// completeFirst refuses the owner of a completion: its work is done.
	completeFirst = complete + " AND NOT done"

	release = `DELETE FROM {table} WHERE key = $1 AND owner = $2 AND NOT done`

	// The rows are chosen first, so that no plan chooses more. A row that was claimed meanwhile
	// does not expire any more.
	deleteExpired = `WITH old AS MATERIALIZED (
	SELECT key FROM {table} WHERE expires < {now} ORDER BY expires LIMIT $1 {skip}
)
DELETE FROM {table} WHERE key IN (SELECT key FROM old) AND expires < {now}`
)

func statementsOf(d Dialect, table string) statements {
	skip := "FOR UPDATE SKIP LOCKED" // another call deletes those
	if d == SQLite {
		skip = ""
	}
	conditions := strings.NewReplacer("{free}", free, "{own}", own)
	rest := strings.NewReplacer("{now}", d.now(), "{table}", quoted(table), "{skip}", skip)
	of := func(statement string) string {
		statement = rest.Replace(conditions.Replace(statement))
		if d == SQLite {
			statement = strings.ReplaceAll(statement, "$", "?") // $1 is a name there, not a number
		}
		return statement
	}
	return statements{of(claim), of(renew), of(complete), of(completeFirst), of(release), of(deleteExpired)}
}
