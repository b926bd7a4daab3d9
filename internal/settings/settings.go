// Package settings is the table of sqsbatch's settings: the field of handler.Config, the
// environment variable, the values that both take, and the default. Package handler reads and
// checks settings by this table. Tests compare documents, deployments and lint with it.
package settings

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// Kind is the type of a setting's values.
type Kind uint8

// The kinds.
const (
	Flag     Kind = iota // true or false
	Choice               // one of Choices
	Number               // Least to Most
	Duration             // above 0, up to Most
	Seconds              // whole seconds, since SQS counts in those, Least to Most
	Queue                // a URL or an ARN
	Queues               // URLs, ARNs or names; in a variable separated by commas
	Address              // HOST:PORT or :PORT
)

// Mode is where a setting has an effect.
type Mode uint8

// The modes.
const (
	Lambda Mode = 1 << iota
	Container
	Everywhere = Lambda | Container
)

// Setting is a field of handler.Config with its environment variable. Least and Most are in
// nanoseconds if it is a duration.
type Setting struct {
	Field, Name string
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
	Concurrency     = Setting{Field: "Concurrency", Name: "SQSBATCH_CONCURRENCY", On: Everywhere, Kind: Number, Least: 1, Most: 10_000, Default: "10 for each queue"}
	Reserve         = Setting{Field: "Reserve", Name: "SQSBATCH_RESERVE", On: Lambda, Kind: Duration, Most: longest}
	RecordTimeout   = Setting{Field: "RecordTimeout", Name: "SQSBATCH_RECORD_TIMEOUT", On: Everywhere, Kind: Duration, Most: longest - int64(time.Minute), Default: "15m"}
	MinRemaining    = Setting{Field: "MinRemaining", Name: "SQSBATCH_MIN_REMAINING", On: Lambda, Kind: Duration, Most: longest}
	Grace           = Setting{Field: "Grace", Name: "SQSBATCH_GRACE", On: Everywhere, Kind: Duration, Most: longest, Default: "1s"}
	DeadLetterQueue = Setting{Field: "Failures.DeadLetterQueue", Name: "SQSBATCH_DEAD_LETTER_QUEUE", On: Everywhere, Kind: Queue, Default: "that of the queue's RedrivePolicy"}
	MaxReceiveCount = Setting{Field: "Failures.MaxReceiveCount", Name: "SQSBATCH_MAX_RECEIVE_COUNT", On: Everywhere, Kind: Number, Least: 1, Most: 1000, Default: "that of the RedrivePolicy"}
	OnPermanent     = Setting{Field: "Failures.OnPermanent", Name: "SQSBATCH_ON_PERMANENT", On: Everywhere, Kind: Choice, Choices: []string{"dead-letter", "retry", "drop"}, Default: "dead-letter"}
	ErrorIfAllFail  = Setting{Field: "ErrorIfAllFail", Name: "SQSBATCH_ERROR_IF_ALL_FAIL", On: Lambda, Kind: Flag}
	DeleteSucceeded = Setting{Field: "NoReportBatchItemFailures", Name: "SQSBATCH_DELETE_SUCCEEDED", On: Lambda, Kind: Flag}
	LogSucceeded    = Setting{Field: "LogSucceeded", Name: "SQSBATCH_LOG_SUCCEEDED", On: Everywhere, Kind: Flag, Default: "false"}
	// LogBodyBytes has a limit because container runtimes split lines at 16 KiB.
	LogBodyBytes = Setting{Field: "LogBodyBytes", Name: "SQSBATCH_LOG_BODY_BYTES", On: Everywhere, Kind: Number, Most: 8192, Default: "0"}
	QueueURL     = Setting{Field: "Poll.Queues", Name: "SQSBATCH_QUEUE_URL", On: Container, Kind: Queues, Default: "–"}
	Wait         = Setting{Field: "Poll.Wait", Name: "SQSBATCH_WAIT", On: Container, Kind: Seconds, Least: int64(time.Second), Most: int64(20 * time.Second), Default: "20s"}
	Prefetch     = Setting{Field: "Poll.Prefetch", Name: "SQSBATCH_PREFETCH", On: Container, Kind: Number, Most: 10_000, Default: "4 × the concurrency, at most 320 or the concurrency; FIFO: as the concurrency; at least 10"}
	Visibility   = Setting{Field: "Poll.Visibility", Name: "SQSBATCH_VISIBILITY", On: Container, Kind: Seconds, Least: int64(3 * time.Second), Most: longest, Default: "1m"}
	UntilEmpty   = Setting{Field: "Poll.UntilEmpty", Name: "SQSBATCH_UNTIL_EMPTY", On: Container, Kind: Flag, Default: "false"}
	DrainLimit   = Setting{Field: "Poll.DrainLimit", Name: "SQSBATCH_DRAIN_LIMIT", On: Container, Kind: Duration, Most: longest, Default: "25s less the grace"}
	MaxAbandoned = Setting{Field: "Poll.MaxAbandoned", Name: "SQSBATCH_MAX_ABANDONED", On: Container, Kind: Number, Least: 1, Most: 10_000, Default: "as the concurrency"}
	HealthAddr   = Setting{Field: "Poll.HealthAddr", Name: "SQSBATCH_HEALTH_ADDR", On: Container, Kind: Address, Default: "–"}
	Outage       = Setting{Field: "Failures.Outage", Name: "SQSBATCH_OUTAGE", On: Everywhere, Kind: Seconds, Least: int64(time.Second), Most: int64(7 * time.Hour), Default: "15m"} // jitter lengthens it by half, and SQS hides a message for 12 h at most
	Backoff      = Setting{Field: "Failures.Backoff", Name: "SQSBATCH_BACKOFF", On: Everywhere, Kind: Choice, Choices: []string{"exponential"}, Default: "–"}
	BackoffBase  = Setting{Name: "SQSBATCH_BACKOFF_BASE", On: Everywhere, Kind: Duration, Most: longest, Default: "2s"}
	BackoffCap   = Setting{Name: "SQSBATCH_BACKOFF_CAP", On: Everywhere, Kind: Duration, Most: longest, Default: "15m"}
)

// All are the settings.
var All = []*Setting{
	&Concurrency, &Reserve, &RecordTimeout, &MinRemaining, &Grace, &DeadLetterQueue, &MaxReceiveCount, &OnPermanent,
	&ErrorIfAllFail, &DeleteSucceeded, &LogSucceeded, &LogBodyBytes,
	&QueueURL, &Wait, &Prefetch, &Visibility, &UntilEmpty, &DrainLimit, &MaxAbandoned, &HealthAddr,
	&Outage, &Backoff, &BackoffBase, &BackoffCap,
}

// Names returns what follows Prefix in the names of the settings.
func Names() (list []string) {
	for _, s := range All {
		list = append(list, strings.TrimPrefix(s.Name, Prefix))
	}
	return list
}

// Must returns the values that the setting takes, as text after "must be".
func (s *Setting) Must() string {
	switch s.Kind {
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
	case Queue:
		return "the queue's URL (https://…) or its ARN"
	case Queues:
		return "queues' URLs, ARNs or names, separated by commas"
	default:
		return `HOST:PORT or :PORT, like "127.0.0.1:8080" or ":8080"`
	}
}

// brief returns a duration without minutes and seconds that are zero: 12h rather than
// 12h0m0s.
func brief(d int64) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(time.Duration(d).String())
}

// Read returns the value of the variable with a text, of the kind's type. If it is out of its
// bounds, Read returns both the value and the error of [Setting.Check].
func (s *Setting) Read(text string) (value any, err error) {
	switch s.Kind {
	case Flag:
		value, err = strconv.ParseBool(text)
	case Number:
		value, err = strconv.Atoi(text)
	case Duration, Seconds:
		value, err = time.ParseDuration(text)
	case Queues:
		items := strings.Split(text, ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		value = items
	default:
		value = text
	}
	if err != nil {
		return nil, errors.New("must be " + s.Must())
	}
	return value, s.Check(value)
}

// Check returns an error that says what the value of a field must be, unless it is in its
// bounds.
func (s *Setting) Check(value any) (err error) {
	good := true
	switch v := reflect.ValueOf(value); s.Kind {
	case Choice:
		good = slices.Contains(s.Choices, v.String())
	case Number:
		good = v.Int() >= s.Least && v.Int() <= s.Most
	case Duration:
		good = v.Int() > 0 && v.Int() <= s.Most
	case Seconds:
		good = v.Int() >= s.Least && v.Int() <= s.Most && v.Int()%int64(time.Second) == 0
	case Queue:
		if !strings.HasPrefix(v.String(), "http://") && !strings.HasPrefix(v.String(), "https://") {
			_, err = endpoint.ParseARN(v.String())
		}
	case Queues:
		for i, item := range value.([]string) {
			switch {
			case err != nil: // of one before
			case item == "":
				err = fmt.Errorf("item %d of %d is empty", i+1, v.Len())
			case strings.HasPrefix(item, "arn:"):
				_, err = endpoint.ParseARN(item)
			}
		}
	case Address:
		_, port, bad := net.SplitHostPort(v.String())
		_, wrong := strconv.ParseUint(port, 10, 16)
		good = bad == nil && wrong == nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("must be %s: %w", s.Must(), err)
	case !good:
		return errors.New("must be " + s.Must())
	}
	return nil
}
