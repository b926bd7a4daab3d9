package handler

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// lambdaLogger is aws-lambda-go's logger, which writes in Lambda's format with
// the request id. It takes the levels TRACE and FATAL, which Lambda has, for
// INFO; here they are what they say.
func lambdaLogger(level string) *slog.Logger {
	h := lambdacontext.NewLogHandler()
	switch level {
	case "TRACE":
		h = leveled{h, slog.LevelDebug}
	case "FATAL":
		h = leveled{h, slog.LevelError + 4}
	}
	return slog.New(h)
}

// leveled is a handler with a level of its own.
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

// containerLogger writes JSON to standard output, with the keys that Lambda's
// log has.
func containerLogger() *slog.Logger {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(os.Getenv("AWS_LAMBDA_LOG_LEVEL"))) // INFO, unless it is one of slog's
	names := map[string]string{slog.TimeKey: "timestamp", slog.MessageKey: "message"}
	return slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if name, ok := names[a.Key]; ok && len(groups) == 0 {
			a.Key = name
		}
		return a
	}}))
}
