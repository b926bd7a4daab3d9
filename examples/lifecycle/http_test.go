package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// Ten orders are being shipped and two wait, and a request is being answered.
func TestHTTP_FinishesRecordsAndRequests(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		listener := bufconn.Listen(1 << 16)
		stop := start(t, func(ctx context.Context) error { return serveHTTP(ctx, listener, q.Config) })
		time.Sleep(time.Second)
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) }}
		defer transport.CloseIdleConnections()
		answer := make(chan string, 1)
		go func() {
			res, err := (&http.Client{Transport: transport}).Get("http://orders/")
			if err != nil {
				answer <- err.Error()
				return
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			answer <- string(body)
		}()
		time.Sleep(500 * time.Millisecond)
		q.requireStop(2500*time.Millisecond, stop) // the request's end; the records are done after 1.5 s
		q.requireMessages(10, 2)
		if text := <-answer; text != "shipped\n" {
			t.Errorf("the request was answered %q", text)
		}
	})
}

func TestHTTP_ServerFails_PollerDrains(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		listener := bufconn.Listen(1 << 16)
		stop := start(t, func(ctx context.Context) error { return serveHTTP(ctx, listener, q.Config) })
		time.Sleep(time.Second)
		_ = listener.Close()
		time.Sleep(3 * time.Second)
		q.requireMessages(10, 2)
		if stop() == nil {
			t.Error("no error")
		}
	})
}
