// Command lifecycle has programs that poll a queue inside a life cycle that others give them: an
// errgroup, a framework, a server. docs/lifecycles.md explains them. They are a module of their
// own because of the frameworks.
//
//	go run . http     in this directory, or grpc, component, fx, cobra, worker
//	go test ./...     or: make lifecycle
package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/fx"
	"google.golang.org/grpc"

	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	program := "worker"
	if len(os.Args) > 1 {
		program = os.Args[1]
	}
	if err := run(ctx, program, handler.Config{}); err != nil {
		slog.Error("ended", "reason", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string, cfg handler.Config) error {
	switch program {
	case "http", "grpc":
		listener, err := net.Listen("tcp", ":8080")
		if err != nil {
			return err
		}
		if program == "http" {
			return serveHTTP(ctx, listener, cfg)
		}
		return serveGRPC(ctx, listener, grpc.NewServer(), cfg)
	case "component":
		return runComponent(ctx, cfg)
	case "fx":
		fx.New(application(cfg)).Run() // it takes the signals itself
		return nil
	case "cobra":
		root := command(cfg)
		root.SetArgs(os.Args[2:])
		return root.ExecuteContext(ctx)
	}
	return withWorker(ctx, cfg)
}

// Order is a message.
type Order struct {
	ID string `json:"id"`
}

// ship takes its time, as work does. It respects the end of its context.
func ship(ctx context.Context, o Order) error {
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
