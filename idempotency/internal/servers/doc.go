// Package servers tests the stores of idempotency against their servers: PostgreSQL, Redis and
// Valkey, and SQLite, which runs in the test. It is a separate module because of the drivers and
// clients.
package servers
