package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// This file stands in for a database and its driver, so that the example runs
// without one. It is no part of a function, which imports github.com/jackc/pgx/v5/stdlib.
func init() { sql.Register("pgx", database{}) }

// database takes every statement.
type database struct{}

func (d database) Open(string) (driver.Conn, error)         { return d, nil }
func (database) Close() error                               { return nil }
func (database) Begin() (driver.Tx, error)                  { return nil, errors.ErrUnsupported }
func (database) Prepare(string) (driver.Stmt, error)        { return nil, errors.ErrUnsupported }
func (database) CheckNamedValue(v *driver.NamedValue) error { return nil }

func (database) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(0), ctx.Err()
}
