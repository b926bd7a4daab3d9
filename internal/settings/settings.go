// Package settings is the table of sqsbatch's environment variables. Package handler uses
// it to read them. Tests compare documents, deployments and lint with it.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of a setting's values.
type Kind uint8

// The kinds.
const (
	Text     Kind = iota // any: the package that uses it checks it
	Queues               // URLs, ARNs or names, separated by commas
	Flag                 // true or false
	Choice               // one of Choices
	Number               // Least to Most
	Duration             // above 0, up to Most
	Seconds              // whole seconds, since SQS counts in those, Least to Most
)

// Mode is where a setting has an effect.
type Mode uint8

// The modes.
const (
	Lambda Mode = 1 << iota
	Container
	Everywhere = Lambda | Container
)

// Setting is an environment variable. Its Least and Most are in nanoseconds if it is a
// duration.
type Setting struct {
	Name        string
	On          Mode
	Kind        Kind
	Least, Most int64
	Choices     []string
	// Default is the text in docs/configuration.md: a value, or how it is determined. It is
	// "" for a setting without effect there.
	Default string
}

// longest is the most that SQS leaves a message with a receiver.
const longest = int64(12 * time.Hour)

// LogLevel is Lambda's variable, which containers use as well.
const LogLevel = "AWS_LAMBDA_LOG_LEVEL"

// Prefix begins the names of sqsbatch's own variables.
const Prefix = "SQSBATCH_"

// The settings.
var (
	Concurrency     = Setting{Name: "SQSBATCH_CONCURRENCY", On: Everywhere, Kind: Number, Least: 1, Most: 10_000, Default: "10"}
	Reserve         = Setting{Name: "SQSBATCH_RESERVE", On: Lambda, Kind: Duration, Most: longest}
	RecordTimeout   = Setting{Name: "SQSBATCH_RECORD_TIMEOUT", On: Everywhere, Kind: Duration, Most: longest - int64(time.Minute), Default: "15m"}
	DeadlinePolicy  = Setting{Name: "SQSBATCH_DEADLINE_POLICY", On: Lambda, Kind: Choice, Choices: []string{"whole", "fair"}}
	MinRemaining    = Setting{Name: "SQSBATCH_MIN_REMAINING", On: Lambda, Kind: Duration, Most: longest}
	Grace           = Setting{Name: "SQSBATCH_GRACE", On: Everywhere, Kind: Duration, Most: longest, Default: "1s"}
	DeadLetterQueue = Setting{Name: "SQSBATCH_DEAD_LETTER_QUEUE", On: Everywhere, Default: "that of the queue's RedrivePolicy"}
	MaxReceiveCount = Setting{Name: "SQSBATCH_MAX_RECEIVE_COUNT", On: Everywhere, Kind: Number, Least: 1, Most: 1000, Default: "that of the RedrivePolicy"}
	OnPermanent     = Setting{Name: "SQSBATCH_ON_PERMANENT", On: Everywhere, Default: "dead-letter"}
	OnMalformed     = Setting{Name: "SQSBATCH_ON_MALFORMED", On: Everywhere, Default: "as for permanent ones"}
	ErrorIfAllFail  = Setting{Name: "SQSBATCH_ERROR_IF_ALL_FAIL", On: Lambda, Kind: Flag}
	DeleteSucceeded = Setting{Name: "SQSBATCH_DELETE_SUCCEEDED", On: Lambda, Kind: Flag}
	LogSucceeded    = Setting{Name: "SQSBATCH_LOG_SUCCEEDED", On: Everywhere, Kind: Flag, Default: "false"}
	// LogBodyBytes has a limit because container runtimes split lines at 16 KiB.
	LogBodyBytes = Setting{Name: "SQSBATCH_LOG_BODY_BYTES", On: Everywhere, Kind: Number, Most: 8192, Default: "0"}
	MaxHandlers  = Setting{Name: "SQSBATCH_MAX_HANDLERS", On: Everywhere, Kind: Number, Least: 1, Most: 10_000, Default: "–"}
	QueueURL     = Setting{Name: "SQSBATCH_QUEUE_URL", On: Container, Kind: Queues, Default: "–"}
	Wait         = Setting{Name: "SQSBATCH_WAIT", On: Container, Kind: Seconds, Least: int64(time.Second), Most: int64(20 * time.Second), Default: "20s"}
	Prefetch     = Setting{Name: "SQSBATCH_PREFETCH", On: Container, Kind: Number, Most: 10_000, Default: "4 × the slots, at most 320 or the slots; FIFO: as slots; at least 10"}
	Visibility   = Setting{Name: "SQSBATCH_VISIBILITY", On: Container, Kind: Seconds, Least: int64(3 * time.Second), Most: longest, Default: "1m"}
	Heartbeat    = Setting{Name: "SQSBATCH_HEARTBEAT", On: Container, Kind: Flag, Default: "true"}
	UntilEmpty   = Setting{Name: "SQSBATCH_UNTIL_EMPTY", On: Container, Kind: Flag, Default: "false"}
	DrainLimit   = Setting{Name: "SQSBATCH_DRAIN_LIMIT", On: Container, Kind: Duration, Most: longest, Default: "25s less the grace"}
	MaxAbandoned = Setting{Name: "SQSBATCH_MAX_ABANDONED", On: Container, Kind: Number, Least: 1, Most: 10_000, Default: "as slots"}
	HealthAddr   = Setting{Name: "SQSBATCH_HEALTH_ADDR", On: Container, Default: "–"}
	Outage       = Setting{Name: "SQSBATCH_OUTAGE", On: Everywhere, Kind: Seconds, Least: int64(time.Second), Most: int64(7 * time.Hour), Default: "15m"}
	Backoff      = Setting{Name: "SQSBATCH_BACKOFF", On: Everywhere, Kind: Choice, Choices: []string{"exponential", "linear", "constant"}, Default: "–"}
	BackoffBase  = Setting{Name: "SQSBATCH_BACKOFF_BASE", On: Everywhere, Kind: Duration, Most: longest, Default: "2s"}
	BackoffCap   = Setting{Name: "SQSBATCH_BACKOFF_CAP", On: Everywhere, Kind: Duration, Most: longest, Default: "15m"}
)

// All are the settings.
var All = []*Setting{
	&Concurrency, &Reserve, &RecordTimeout, &DeadlinePolicy, &MinRemaining, &Grace, &DeadLetterQueue, &MaxReceiveCount, &OnPermanent, &OnMalformed,
	&ErrorIfAllFail, &DeleteSucceeded, &LogSucceeded, &LogBodyBytes, &MaxHandlers,
	&QueueURL, &Wait, &Prefetch, &Visibility, &Heartbeat, &UntilEmpty, &DrainLimit, &MaxAbandoned, &HealthAddr,
	&Outage, &Backoff, &BackoffBase, &BackoffCap,
}

// Known reports whether a setting, or the log's level, has that name.
func Known(name string) bool {
	return name == LogLevel || slices.ContainsFunc(All, func(s *Setting) bool { return s.Name == name })
}

// Must returns the values that the setting takes, as text after "must be".
func (s *Setting) Must() string {
	switch s.Kind {
	case Queues:
		return "queues' URLs, ARNs or names, separated by commas"
	case Flag:
		return "true or false"
	case Choice:
		return fmt.Sprintf("one of %q", s.Choices)
	case Number:
		return fmt.Sprintf("a whole number from %d to %d", s.Least, s.Most)
	case Duration:
		return fmt.Sprintf(`a duration above 0 and up to %s, like "500ms" or "30s"`, brief(s.Most))
	case Seconds:
		return fmt.Sprintf(`whole seconds from %s to %s, like "20s"`, brief(s.Least), brief(s.Most))
	default:
		return "text"
	}
}

// brief returns a duration without minutes and seconds that are zero: 12h rather than
// 12h0m0s.
func brief(d int64) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(time.Duration(d).String())
}

// checked returns v, or an error that says what the value must be.
func checked[T any](s *Setting, v T, good bool) (T, error) {
	if !good {
		return v, errors.New("must be " + s.Must())
	}
	return v, nil
}

// Int reads the value of a Number.
func (s *Setting) Int(value string) (int, error) {
	n, err := strconv.Atoi(value)
	return checked(s, n, err == nil && int64(n) >= s.Least && int64(n) <= s.Most)
}

// Bool reads the value of a Flag.
func (s *Setting) Bool(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	return checked(s, b, err == nil)
}

// Time reads the value of a Duration or of Seconds.
func (s *Setting) Time(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	whole := s.Kind != Seconds || d%time.Second == 0
	return checked(s, d, err == nil && d > 0 && int64(d) >= s.Least && int64(d) <= s.Most && whole)
}

// Text reads the value of a Choice, or of Text, which may be any.
func (s *Setting) Text(value string) (string, error) {
	return checked(s, value, s.Kind == Text || slices.Contains(s.Choices, value))
}

// List reads the value of Queues.
func (s *Setting) List(value string) ([]string, error) {
	items := strings.Split(value, ",")
	for i := range items {
		if items[i] = strings.TrimSpace(items[i]); items[i] == "" {
			return nil, fmt.Errorf("must be %s: item %d of %d is empty", s.Must(), i+1, len(items))
		}
	}
	return items, nil
}
