// Command outbox stores orders and sends a message about each to SQS, although a database
// and a queue have no common transaction. The message commits with the order, as a row of a
// table: the outbox. A relay reads the table and sends the messages with package sender.
//
//	QUEUE=orders.fifo DATABASE=orders.db go run .
//
// Copy outbox.go, and change the SQL to that of your database.
//
// No message is lost: its row is deleted only after SQS has confirmed it. The messages of an
// aggregate, which is a message group, are sent in order. Several relays may run. One of them
// has the lease and works, and another takes over within 30 s of its death.
//
// A relay that was killed between a send and its delete leaves the row, and the next relay
// sends the message again. The row's id is the deduplication id, so SQS drops the copy if it
// comes within five minutes. After that time SQS has forgotten the id, and takes the message
// twice: if no relay works for five minutes after such a kill, or the database takes no
// deletes for so long. The copy still comes before later messages of its aggregate, unless
// the relay was frozen in the middle of a call rather than killed. Both copies have the same
// MessageDeduplicationId, so a consumer that must not repeat its work gives
// idempotency.DeduplicationID to package idempotency as the key.
//
// A message that breaks a rule of SQS, such as one that is too large, holds up its aggregate.
// The log says so. Fix or delete its row.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	_ "modernc.org/sqlite"

	"github.com/sqsbatch/sqsbatch/sender"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	db, err := open(ctx, os.Getenv("DATABASE"))
	if err != nil {
		return err
	}
	defer db.Close()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	s, err := sender.New(sqs.NewFromConfig(cfg), sender.Config{Queue: os.Getenv("QUEUE")})
	if err != nil {
		return err
	}
	defer s.Close(context.Background()) // nothing is left, since the relay has ended
	r := &relay{db: db, sender: s, owner: rand.Text()}
	go takeOrders(ctx, db)
	r.run(ctx)
	return nil
}

// takeOrders stands for the rest of the program.
func takeOrders(ctx context.Context, db *sql.DB) {
	for n := 1; ctx.Err() == nil; n++ {
		if err := placeOrder(ctx, db, order{Customer: fmt.Sprint("customer-", n%3), Total: n}); err != nil {
			log.Print(err)
		}
		time.Sleep(time.Second)
	}
}

// open opens the database. Each transaction locks it at once, so none fails later because of
// another.
func open(ctx context.Context, file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, schema+`
		CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total INTEGER NOT NULL);`)
	return db, err
}

// order is what is stored, and what the message says.
type order struct {
	ID       int64  `json:"id"`
	Customer string `json:"customer"`
	Total    int    `json:"total"`
}

// placeOrder stores an order and its message in one transaction: both or neither.
func placeOrder(ctx context.Context, db *sql.DB, o order) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after Commit
	result, err := tx.ExecContext(ctx, `INSERT INTO orders (customer, total) VALUES (?, ?)`, o.Customer, o.Total)
	if err != nil {
		return err
	}
	if o.ID, err = result.LastInsertId(); err != nil {
		return err
	}
	if err := add(ctx, tx, o.Customer, o); err != nil {
		return err
	}
	return tx.Commit()
}
