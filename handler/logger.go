package handler

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

const levelVariable = "AWS_LAMBDA_LOG_LEVEL"

// lambdaLogger is aws-lambda-go's logger, which writes in Lambda's format with
// the request id. That takes the levels TRACE and FATAL, which Lambda has, for
// INFO; here they are what they say.
func lambdaLogger(level string) *slog.Logger {
	h := lambdacontext.NewLogHandler()
	if least, _ := logLevel(level); level == "TRACE" || level == "FATAL" {
		h = leveled{h, least}
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

// containerLogger writes JSON to standard output, with the keys and levels that
// Lambda's log has.
func containerLogger(level string) *slog.Logger {
	least, _ := logLevel(level)
	return slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: least, ReplaceAttr: lambdacontext.ReplaceAttr}))
}

// logLevel is the level with a name: one of Lambda's, or of slog's. It is INFO
// for a name that is neither.
func logLevel(name string) (level slog.Level, ok bool) {
	switch name = strings.ToUpper(cmp.Or(name, "INFO")); name {
	case "TRACE":
		return slog.LevelDebug, true
	case "FATAL":
		return slog.LevelError + 4, true
	}
	err := level.UnmarshalText([]byte(name))
	return level, err == nil
}
