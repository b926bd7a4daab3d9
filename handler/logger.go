package handler

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

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

// containerLogger writes JSON to standard output, with the keys and levels that
// Lambda's log has.
func containerLogger(level string) *slog.Logger {
	least, _ := logLevel(level)
	names := map[string]string{slog.TimeKey: "timestamp", slog.MessageKey: "message"}
	return slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: least, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if name, ok := names[a.Key]; ok && len(groups) == 0 {
			a.Key = name
		}
		return a
	}}))
}

const levelVariable = "AWS_LAMBDA_LOG_LEVEL"

// logLevel is the level with a name: one of Lambda's, or of slog's. It is INFO
// for a name that is neither.
func logLevel(name string) (level slog.Level, ok bool) {
	switch name = strings.ToUpper(name); name {
	case "":
		return slog.LevelInfo, true
	case "TRACE":
		return slog.LevelDebug, true
	case "FATAL":
		return slog.LevelError + 4, true
	}
	err := level.UnmarshalText([]byte(name))
	return level, err == nil
}

// odd says what of the environment has no effect, although somebody may think
// that it has; "" if nothing.
func (c *Config) odd() string {
	says := unknownVariables()
	name := os.Getenv(levelVariable)
	if _, ok := logLevel(name); ok || c.Logger != nil {
		return says
	}
	if says != "" {
		says += "; "
	}
	return says + fmt.Sprintf("%s is %q, must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL: it is INFO now", levelVariable, name)
}

// tell writes a warning, unless it is empty.
func (c *Config) tell(ctx context.Context, warning string) {
	if warning != "" {
		c.Logger.WarnContext(ctx, warning, "logger", "sqsbatch")
	}
}
