package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"
)

// This file stands in for a database and its driver, a worker, the host carrier.example.com
// and Amazon S3, so that the examples run without them. It is no part of a function, which
// imports github.com/jackc/pgx/v5/stdlib.
func init() {
	sql.Register("pgx", database{})
	client.Transport = worker{}
	http.DefaultClient.Transport = &carrier{}
	if os.Getenv("AWS_ENDPOINT_URL_S3") != "" {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("AWS_ENDPOINT_URL_S3", "http://"+listener.Addr().String())
	go func() { _ = http.Serve(listener, http.HandlerFunc(objects)) }()
}

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

// worker refuses bodies that are not orders, and orders of unknown articles.
type worker struct{}

func (worker) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	var order struct{ ID, SKU string }
	switch err := json.NewDecoder(r.Body).Decode(&order); {
	case err != nil:
		http.Error(w, "no order", http.StatusBadRequest)
	case order.SKU == "unknown":
		http.Error(w, "no such article", http.StatusUnprocessableEntity)
	case order.SKU == "moved":
		http.Redirect(w, r, "/done", http.StatusFound)
	default:
		slog.InfoContext(r.Context(), "shipped", "order", order.ID, "queue", r.Header.Get("X-Aws-Sqsd-Queue"), "priority", r.Header.Get("X-Aws-Sqsd-Attr-Priority"))
	}
	response := w.Result()
	response.Request = r
	return response, nil
}

// carrier answers 422 for the article unknown. For busy and down it answers 429 with
// Retry-After and 503 when it is first asked for an order. During an outage, which begins with
// the first call, every answer is 503.
type carrier struct {
	outage time.Duration

	mu      sync.Mutex
	first   time.Time
	refused int // calls during the outage
	asked   map[string]bool
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.IsZero() {
		c.first, c.asked = time.Now(), map[string]bool{}
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	if time.Since(c.first) < c.outage {
		c.refused++
		response.StatusCode = http.StatusServiceUnavailable
		return response, nil
	}
	again := c.asked[r.URL.Path]
	c.asked[r.URL.Path] = true
	switch sku, _, _ := strings.Cut(r.URL.Path[1:], "/"); {
	case sku == "unknown":
		response.StatusCode = http.StatusUnprocessableEntity
	case again:
	case sku == "busy":
		response.StatusCode = http.StatusTooManyRequests
		response.Header.Set("Retry-After", "2")
	case sku == "down":
		response.StatusCode = http.StatusServiceUnavailable
	}
	return response, nil
}

// objects serves two orders of 300 KiB in orders-payloads, and one that is
// someone else's.
func objects(w http.ResponseWriter, r *http.Request) {
	n, ok := map[string]int{
		"/orders-payloads/3d1f9c4a-77f5-4be4-9d5e-6a2f3d0f5b11": 2,
		"/orders-payloads/8b79b963-244f-4056-910f-ad6c06bca726": 3,
		"/somebody-elses/5f7a1d1e-90c4-4c55-b0a9-0e3c5d8f6e21":  5,
	}[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>`)
		return
	}
	fmt.Fprintf(w, `{"id":"o-%d","sku":"ok","quantity":%d,"note":"%s"}`, n, n, strings.Repeat("x", 300<<10))
}
