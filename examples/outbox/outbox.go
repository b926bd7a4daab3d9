package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/sender"
)

// schema has the outbox, and the lease that makes one relay work at a time.
//
// AUTOINCREMENT matters. Without it SQLite gives the id of a deleted row to a new one. SQS
// would take the new message for the old one, and drop it.
const schema = `
CREATE TABLE IF NOT EXISTS outbox (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	aggregate TEXT NOT NULL,
	body      TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS outbox_aggregate ON outbox (aggregate, id);
CREATE TABLE IF NOT EXISTS outbox_lease (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	owner TEXT NOT NULL,
	until INTEGER NOT NULL -- in Unix milliseconds
);
INSERT OR IGNORE INTO outbox_lease VALUES (1, '', 0);`

// add puts a message into the outbox. It is sent if tx commits.
//
// Messages of an aggregate are sent in the order of their ids. That is the order of their
// transactions on SQLite, which has one writer at a time. On other databases, let each
// transaction update the aggregate's own row before it adds a message.
func add(ctx context.Context, tx *sql.Tx, aggregate string, event any) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO outbox (aggregate, body) VALUES (?, ?)`, aggregate, string(body))
	return err
}

const (
	leaseTime = 30 * time.Second       // longer than a round, and far below five minutes
	roundTime = 10 * time.Second       // for the sends of a round, and then for its deletes
	pollTime  = 200 * time.Millisecond // the wait after a round that found nothing
	pageSize  = 100                    // messages of a round
)

// relay sends the messages of the outbox to a FIFO queue. The group of a message is its
// aggregate, and its deduplication id is the id of its row.
type relay struct {
	db     *sql.DB
	sender *sender.Sender
	owner  string // unique among relays
}

// row is a message in the outbox.
type row struct {
	id              int64
	aggregate, body string
}

// run sends until ctx ends. Then it finishes its round and gives the lease back, so that
// another relay goes on at once.
func (r *relay) run(ctx context.Context) {
	defer r.giveBack()
	for ctx.Err() == nil {
		sent, err := r.round()
		wait := pollTime
		if err != nil {
			slog.Error("outbox: a round failed", "error", err)
			wait = time.Second
		}
		if sent > 0 {
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// round sends the oldest message of each aggregate, and deletes the confirmed ones. It
// sends one message of an aggregate at a time, so one that fails holds up its aggregate,
// and nothing else.
func (r *relay) round() (sent int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), roundTime)
	defer cancel()
	if have, err := r.lease(ctx); err != nil || !have {
		return 0, err
	}
	rows, err := r.page(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	confirmed, failed := r.send(ctx, rows)
	return len(confirmed), errors.Join(failed, r.remove(confirmed))
}

// lease takes or extends the lease. It reports whether this relay has it.
func (r *relay) lease(ctx context.Context) (bool, error) {
	now := time.Now()
	result, err := r.db.ExecContext(ctx, `UPDATE outbox_lease SET owner = ?, until = ? WHERE owner = ? OR until < ?`,
		r.owner, now.Add(leaseTime).UnixMilli(), r.owner, now.UnixMilli())
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func (r *relay) giveBack() {
	ctx, cancel := context.WithTimeout(context.Background(), roundTime)
	defer cancel()
	if _, err := r.db.ExecContext(ctx, `UPDATE outbox_lease SET until = 0 WHERE owner = ?`, r.owner); err != nil {
		slog.Error("outbox: the lease is not given back", "error", err)
	}
}

// page reads the oldest message of each aggregate.
func (r *relay) page(ctx context.Context) (list []row, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT id, aggregate, body FROM outbox
		WHERE id IN (SELECT min(id) FROM outbox GROUP BY aggregate) ORDER BY id LIMIT ?`, pageSize)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m row
		if err := rows.Scan(&m.id, &m.aggregate, &m.body); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

// send sends messages and returns the ids of those that SQS has confirmed. Others stay in
// the outbox, and are sent again with the same deduplication id.
func (r *relay) send(ctx context.Context, rows []row) (confirmed []string, err error) {
	errs := make([]error, len(rows))
	var all sync.WaitGroup
	for i, m := range rows {
		all.Go(func() {
			errs[i] = r.sender.Send(ctx, sender.Message{Body: m.body, Group: m.aggregate, DeduplicationID: fmt.Sprint("outbox-", m.id)})
		})
	}
	all.Wait()
	for i, m := range rows {
		if errs[i] == nil {
			confirmed = append(confirmed, strconv.FormatInt(m.id, 10))
		} else {
			err = errors.Join(err, fmt.Errorf("row %d of %s: %w", m.id, m.aggregate, errs[i]))
		}
	}
	return confirmed, err
}

// remove deletes messages that SQS has confirmed. The sends may have used up the time of the
// round, so it has its own.
func (r *relay) remove(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), roundTime)
	defer cancel()
	_, err := r.db.ExecContext(ctx, `DELETE FROM outbox WHERE id IN (`+strings.Join(ids, ",")+`)`) // ids are numbers
	return err
}
