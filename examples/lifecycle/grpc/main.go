// Command grpc serves gRPC and polls a queue in one process.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/lifecycle/orders"
	"github.com/sqsbatch/sqsbatch/handler"
)

// callLimit is how long a stop waits for calls and streams.
const callLimit = 10 * time.Second

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

// run serves and polls until ctx ends or one of the two fails.
func run(ctx context.Context, listener net.Listener, server *grpc.Server, cfg handler.Config) error {
	poller, err := handler.NewPoller(batch.JSON(orders.Ship), cfg)
	if err != nil {
		return err
	}
	healthy := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, healthy)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return poller.Run(ctx) }) // returns when it has drained
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()       // a signal, or one of the two has failed
		healthy.Shutdown() // clients that watch it turn to others
		defer time.AfterFunc(callLimit, server.Stop).Stop()
		server.GracefulStop()
		return nil
	})
	return group.Wait()
}
