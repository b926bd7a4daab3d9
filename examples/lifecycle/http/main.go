// Command http serves HTTP and polls a queue in one process.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/lifecycle/orders"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	listener, err := net.Listen("tcp", ":8080")
	if err == nil {
		err = run(ctx, listener, handler.Config{})
	}
	if err != nil {
		slog.Error("ended", "reason", err)
		os.Exit(1)
	}
}

// run serves and polls until ctx ends or one of the two fails.
func run(ctx context.Context, listener net.Listener, cfg handler.Config) error {
	poller, err := handler.NewPoller(batch.JSON(orders.Ship), cfg)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(report), ReadHeaderTimeout: 5 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return poller.Run(ctx) }) // returns when it has drained
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done() // a signal, or one of the two has failed
		limit, cancel := context.WithTimeout(context.Background(), poller.StopTakes())
		defer cancel()
		return server.Shutdown(limit)
	})
	return group.Wait()
}

func report(w http.ResponseWriter, r *http.Request) {
	if err := orders.Ship(r.Context(), orders.Order{}); err == nil { // takes its time, too
		fmt.Fprintln(w, "shipped")
	}
}
