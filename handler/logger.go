package handler

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// setUp sets zero fields from their variables, and Logger by newLogger. It returns the hooks
// that write the log, warnings about variables without effect, and errors that name invalid
// values.
func (c *Config) setUp(newLogger func(level string) *slog.Logger, every time.Duration) (hooks batch.Hooks, warnings []string, wrong mistakes) {
	wrong.add(c.fromEnvironment())
	wrong = append(wrong, c.validate()...)
	if check := c.Hooks.Validate; check != nil {
		wrong.add(check())
	}
	if unknown := unknownVariables(); unknown != nil {
		warnings = append(warnings, unknown.Error())
	}
	if c.Logger == nil {
		name := os.Getenv(settings.LogLevel)
		if _, ok := levels[strings.ToUpper(name)]; !ok {
			warnings = append(warnings, fmt.Sprintf("%s is %q, must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL: INFO is used", settings.LogLevel, name))
		}
		c.Logger = newLogger(name)
	}
	return log.New(c.Logger, log.Config{Succeeded: c.LogSucceeded, BodyBytes: c.LogBodyBytes, Every: every}), warnings, wrong
}

// warn logs each warning.
func (c *Config) warn(ctx context.Context, list []string) {
	for _, warning := range list {
		c.Logger.WarnContext(ctx, warning, "logger", "sqsbatch")
	}
}

// lambdaLogger returns the logger of aws-lambda-go, which writes in Lambda's format with the
// request id. It corrects the levels TRACE and FATAL, which aws-lambda-go takes for INFO.
func lambdaLogger(level string) *slog.Logger {
	h := lambdacontext.NewLogHandler()
	if level == "TRACE" || level == "FATAL" {
		h = leveled{h, levels[level]}
	}
	return slog.New(h)
}

// leveled is a slog handler with another level.
type leveled struct {
	slog.Handler
	least slog.Level
}

func (l leveled) Enabled(_ context.Context, level slog.Level) bool { return level >= l.least }

func (l leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{l.Handler.WithAttrs(attrs), l.least}
}

func (l leveled) WithGroup(name string) slog.Handler {
	return leveled{l.Handler.WithGroup(name), l.least}
}

// containerLogger returns a logger that writes JSON to standard output, with the keys and levels
// of Lambda's log.
func containerLogger(level string) *slog.Logger {
	least := levels[strings.ToUpper(level)]
	return slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: least, ReplaceAttr: lambdacontext.ReplaceAttr}))
}

// levels are the levels of Lambda's log by their names; "" is the default. Any other name
// means INFO, too, as slog's zero level.
var levels = map[string]slog.Level{
	"TRACE": slog.LevelDebug, "DEBUG": slog.LevelDebug, "": slog.LevelInfo, "INFO": slog.LevelInfo,
	"WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": slog.LevelError + 4,
}
