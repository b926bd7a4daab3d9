// Command worker hands records to a worker that ends after the poller.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, handler.Config{}); err != nil {
		slog.Error("ended", "reason", err)
		os.Exit(1)
	}
}
