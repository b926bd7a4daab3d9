package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// serveHTTP serves and polls until ctx ends or one of the two fails.
func serveHTTP(ctx context.Context, listener net.Listener, cfg handler.Config) error {
	poller, err := handler.NewPoller(batch.JSON(ship), cfg)
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
	if err := ship(r.Context(), Order{}); err == nil { // takes its time, too
		fmt.Fprintln(w, "shipped")
	}
}
