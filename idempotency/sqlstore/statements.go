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
	// PostgreSQL is PostgreSQL 13 or later, or a compatible database, such as Aurora.
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

// now returns the SQL of the current time in milliseconds since 1970. Within a statement it has
// one value. In PostgreSQL that is the start of the statement, not of the transaction.
func (d Dialect) now() string {
	if d == SQLite {
		return "CAST(unixepoch('subsec') * 1000 + 0.5 AS INTEGER)"
	}
	return "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)"
}

// bytes returns the column type for bytes.
func (d Dialect) bytes() string {
	if d == SQLite {
		return "BLOB"
	}
	return "bytea"
}

// txOptions returns the isolation of transactions that complete a claim. With a stricter one
// they would fail after a concurrent renewal of the claim. SQLite has only one.
func (d Dialect) txOptions() *sql.TxOptions {
	if d == SQLite {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// bound returns a condition that is always true. It has PostgreSQL end the session if the commit
// does not follow within 5 s. If the worker is frozen or its machine is lost, its lock on the
// row of the key would otherwise stay until TCP notices, which takes two hours by default.
func (d Dialect) bound() string {
	if d == SQLite {
		return ""
	}
	return " AND set_config('idle_in_transaction_session_timeout', '5s', TRUE) IS NOT NULL"
}

// lock returns statements that serialize concurrent migrations: CREATE IF NOT EXISTS alone may
// fail in PostgreSQL. SQLite has one writer at a time anyway.
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

// quoted returns the quoted name of a table, so that names such as "Orders" and "order" work.
func quoted(table string) string { return `"` + strings.ReplaceAll(table, ".", `"."`) + `"` }

// Schema returns the SQL that creates a table and its index unless they exist, for migrations
// of your own. It returns "" if the dialect or the name is invalid, see [New].
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

// statements are the SQL statements of a store. All but deleteExpired take a key as $1 and an
// owner as $2.
type statements struct{ claim, renew, complete, completeFirst, release, deleteExpired string }

// Statements for both databases. A key is free when the end of its row's claim or completion
// has passed. {free} and {own} are conditions on the row that a claim finds.
const (
	free = "t.ends < {now}"
	own  = "(NOT t.done AND t.owner = excluded.owner AND t.ends < excluded.ends)"

	// A claim writes the existing row even if it is refused, so that one statement checks,
	// changes and returns the row.
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

	// The time from ends to expires stays the same. Both are computed from the old ends.
	renew = `UPDATE {table} SET
	expires = CASE WHEN ends < {now} + $3 THEN expires - ends + {now} + $3 ELSE expires END,
	ends    = CASE WHEN ends < {now} + $3 THEN {now} + $3 ELSE ends END
WHERE key = $1 AND owner = $2 AND NOT done`

	complete = `UPDATE {table} SET
	done = TRUE, ends = {now} + $3, expires = {now} + $3, content = COALESCE($4, content), result = $5
WHERE key = $1 AND owner = $2`

	// completeFirst refuses a second completion by the same owner. It locks the row until the
	// transaction ends.
	completeFirst = complete + " AND NOT done{bound}"

	release = `DELETE FROM {table} WHERE key = $1 AND owner = $2 AND NOT done`

	// MATERIALIZED selects the rows once, so that no plan deletes more. The second condition
	// keeps rows that were claimed meanwhile.
	deleteExpired = `WITH old AS MATERIALIZED (
	SELECT key FROM {table} WHERE expires < {now} ORDER BY expires LIMIT $1 {skip}
)
DELETE FROM {table} WHERE key IN (SELECT key FROM old) AND expires < {now}`
)

func statementsOf(d Dialect, table string) statements {
	skip := "FOR UPDATE SKIP LOCKED" // another call deletes locked rows
	if d == SQLite {
		skip = ""
	}
	conditions := strings.NewReplacer("{free}", free, "{own}", own)
	rest := strings.NewReplacer("{now}", d.now(), "{table}", quoted(table), "{skip}", skip, "{bound}", d.bound())
	of := func(statement string) string {
		statement = rest.Replace(conditions.Replace(statement))
		if d == SQLite {
			statement = strings.ReplaceAll(statement, "$", "?") // SQLite takes $1 for a name, not a number
		}
		return statement
	}
	return statements{of(claim), of(renew), of(complete), of(completeFirst), of(release), of(deleteExpired)}
}
