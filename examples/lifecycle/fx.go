package main

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// application polls a queue in an application of go.uber.org/fx.
func application(cfg handler.Config) fx.Option {
	return fx.Options(
		fx.Supply(cfg),
		fx.Provide(newPoller),
		fx.Invoke(poll),
		fx.StopTimeout(30*time.Second), // fx's own 15 s end before the drain does
	)
}

func newPoller(cfg handler.Config) (*handler.Poller, error) {
	return handler.NewPoller(batch.JSON(ship), cfg)
}

// poll polls from the application's start to its stop.
func poll(app fx.Lifecycle, ender fx.Shutdowner, p *handler.Poller) {
	run := func() {
		if err := p.Run(context.Background()); err != nil { // not OnStart's context, which ends with the start
			slog.Error("polling has ended", "reason", err)
			_ = ender.Shutdown(fx.ExitCode(1))
		}
	}
	app.Append(fx.StartStopHook(func() { go run() }, p.Shutdown))
}
