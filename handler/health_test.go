package handler_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// freeAddr returns an address that a test can serve.
func freeAddr(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().String()
}

// Health checks and the user's handlers are served while a record is handled, and not after.
func TestHandlersAreServedAtHealthAddr(t *testing.T) {
	server, client := queues(t, "a")
	addr := freeAddr(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answers := map[string]string{}
	h := batch.HandlerFunc(func(context.Context, batch.Record) error {
		defer cancel()
		for _, path := range []string{"/metrics", "/livez", "/readyz", "/statusz", "/other"} {
			response, err := http.Get("http://" + addr + path)
			if err != nil {
				return err
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			answers[path] = response.Status + " " + strings.TrimSpace(string(body))
		}
		return nil
	})
	send(t, client, server.QueueURL("a"), "1")
	var book logbook
	cfg := handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{
		Queues: []string{"a"}, HealthAddr: addr, Handlers: map[string]http.Handler{"/metrics": hello}}}
	if err := handler.Poll(ctx, h, cfg); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/metrics": "200 OK hello", "/livez": "200 OK ok a: polling", "/readyz": "200 OK", "/statusz": `"running":1`, "/other": "404"} {
		if !strings.Contains(answers[path], want) {
			t.Errorf("%s answers %q, want %q", path, answers[path], want)
		}
	}
	if said := book.String(); strings.Contains(said, "served nowhere") {
		t.Errorf("the log has %s", said)
	}
	http.DefaultClient.CloseIdleConnections()
	if _, err := http.Get("http://" + addr + "/livez"); err == nil {
		t.Error("the health is still served after Poll returned")
	}
}

func TestHandlersAreValidated(t *testing.T) {
	_, client := queues(t, "a")
	for path, want := range map[string]string{
		"metrics": `Poll.Handlers["metrics"] must be a path below /`, "/": "below /", "GET /metrics": "below /", "/{x}": "below /",
		"/livez": `Poll.Handlers["/livez"] is the health check's own path`, "/nil": `Poll.Handlers["/nil"] is nil`,
	} {
		handlers := map[string]http.Handler{path: hello}
		if path == "/nil" {
			handlers[path] = nil
		}
		cfg := handler.Config{SQS: client, Logger: (&logbook{}).logger(), Poll: handler.PollConfig{Queues: []string{"a"}, HealthAddr: "127.0.0.1:0", Handlers: handlers}}
		if err := handler.Poll(t.Context(), batch.HandlerFunc(byBody), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

// Without an address the records are handled, and a line says what is missing.
func TestHandlersWithoutAnAddressAreTold(t *testing.T) {
	_, client := queues(t, "a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var book logbook
	cfg := handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{Queues: []string{"a"}, Handlers: map[string]http.Handler{"/metrics": hello}}}
	if err := handler.Poll(ctx, batch.HandlerFunc(byBody), cfg); err != nil {
		t.Fatal(err)
	}
	if said := book.String(); !strings.Contains(said, "/metrics: not served, since Poll.HealthAddr is empty (SQSBATCH_HEALTH_ADDR)") {
		t.Errorf("the log has %s", said)
	}
}

// A second Poller of the process with the address cannot serve it, and says what to do.
func TestHealthAddrInUse_IsAnError(t *testing.T) {
	_, client := queues(t, "a")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	err = handler.Poll(t.Context(), batch.HandlerFunc(byBody), handler.Config{
		SQS: client, Logger: (&logbook{}).logger(), Poll: handler.PollConfig{Queues: []string{"a"}, HealthAddr: addr},
	})
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "SQSBATCH_HEALTH_ADDR") || !strings.Contains(err.Error(), "handler.Queues") {
		t.Errorf("%v", err)
	}
}
