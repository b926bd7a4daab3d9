package handler

import (
	"context"
	"fmt"
	"log/slog"
	"net"
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
// that it has.
func (c *Config) odd() (says []string) {
	if unknown := unknownVariables(); unknown != "" {
		says = append(says, unknown)
	}
	name := os.Getenv(levelVariable)
	if _, ok := logLevel(name); !ok && c.Logger == nil {
		says = append(says, fmt.Sprintf("%s is %q, must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL: it is INFO now", levelVariable, name))
	}
	return says
}

// twoHealthAddrs says that a health check by command asks at another port than
// the program serves.
func (c *Config) twoHealthAddrs() []string {
	inEnvironment := os.Getenv("SQSBATCH_HEALTH_ADDR")
	_, asked, _ := net.SplitHostPort(inEnvironment)
	_, served, _ := net.SplitHostPort(c.Poll.HealthAddr)
	if inEnvironment == "" || asked == served {
		return nil
	}
	return []string{fmt.Sprintf("Poll.HealthAddr is %q, and SQSBATCH_HEALTH_ADDR, which comes after it, is %q: a health check that runs livez must be given the former as argument",
		c.Poll.HealthAddr, inEnvironment)}
}

// tell writes warnings.
func (c *Config) tell(ctx context.Context, warnings []string) {
	for _, text := range warnings {
		c.Logger.WarnContext(ctx, text, "logger", "sqsbatch")
	}
}
