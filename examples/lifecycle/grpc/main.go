// Command grpc serves gRPC and polls a queue in one process.
package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"

	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	listener, err := net.Listen("tcp", ":50051")
	if err == nil {
		err = run(ctx, listener, grpc.NewServer(), handler.Config{})
	}
	if err != nil {
		slog.Error("ended", "reason", err)
		os.Exit(1)
	}
}
