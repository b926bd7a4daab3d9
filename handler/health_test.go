package handler_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// Handlers are served next to the health checks, while a record is handled.
func TestHandlersAreServedAtHealthAddr(t *testing.T) {
	server, client := queues(t, "a")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answers := map[string]string{}
	h := batch.HandlerFunc(func(context.Context, batch.Record) error {
		defer cancel()
		for _, path := range []string{"/metrics", "/livez", "/other"} {
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
	http.DefaultClient.CloseIdleConnections()
	if answers["/metrics"] != "200 OK hello" || answers["/livez"] != "200 OK ok a: polling" || !strings.HasPrefix(answers["/other"], "404") {
		t.Errorf("answers %v", answers)
	}
	if said := book.String(); strings.Contains(said, "served nowhere") {
		t.Errorf("the log has %s", said)
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

// Two Polls of one process share their listener, and are healthy when both are.
func TestPollsShareTheHealthAddr(t *testing.T) {
	server, client := queues(t, "a", "b")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	defer http.DefaultClient.CloseIdleConnections()
	// await asks until the answer is the one that is wanted.
	await := func(path, want string) {
		t.Helper()
		got := ""
		for late := time.Now().Add(20 * time.Second); got != want && time.Now().Before(late); {
			response, err := http.Get("http://" + addr + path)
			if err != nil {
				got = err.Error()
				continue
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			got = response.Status + " " + string(body)
		}
		if got != want {
			t.Errorf("%s answers %q, want %q", path, got, want)
		}
	}
	type poll struct {
		stop  context.CancelFunc
		ended chan error
	}
	start := func(queue string, h batch.HandlerFunc) poll {
		ctx, cancel := context.WithCancel(context.Background())
		p := poll{cancel, make(chan error, 1)}
		cfg := handler.Config{SQS: client, Logger: (&logbook{}).logger(), Poll: handler.PollConfig{
			Queues: []string{queue}, HealthAddr: addr, Handlers: map[string]http.Handler{"/" + queue: hello, "/metrics": hello}}}
		go func() { p.ended <- handler.Poll(ctx, h, cfg) }()
		return p
	}
	a := start("a", byBody)
	await("/readyz", "200 OK ok a: polling\n")

	hold, held := make(chan struct{}), make(chan struct{})
	b := start("b", func(context.Context, batch.Record) error {
		close(held)
		<-hold
		return nil
	})
	await("/readyz", "200 OK ok a: polling\nok b: polling\n")
	await("/b", "200 OK hello")
	send(t, client, server.QueueURL("b"), "1")
	<-held
	b.stop()
	await("/readyz", "503 Service Unavailable ok a: polling\nnot ok b: draining\n")
	await("/livez", "200 OK ok a: polling\nok b: draining\n")
	close(hold)
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	await("/readyz", "200 OK ok a: polling\n")
	await("/metrics", "200 OK hello")
	await("/b", "404 Not Found 404 page not found\n")
	a.stop()
	if err := <-a.ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if _, err := http.Get("http://" + addr + "/livez"); err == nil {
		t.Error("the health is still served after both have returned")
	}
}
