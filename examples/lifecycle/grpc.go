package main

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// callLimit is how long a stop waits for calls and streams.
const callLimit = 10 * time.Second

// serveGRPC serves and polls until ctx ends or one of the two fails.
func serveGRPC(ctx context.Context, listener net.Listener, server *grpc.Server, cfg handler.Config) error {
	poller, err := handler.NewPoller(batch.JSON(ship), cfg)
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
