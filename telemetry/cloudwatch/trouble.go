package cloudwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	remindEvery = time.Hour
	// patience is the number of failed calls in a row before a warning, if the problem may
	// pass by itself.
	patience = 3
)

var errNoRegion = errors.New("no region: set AWS_REGION, or give Config.Client")

// unread is the SDK's code for an answer without a code, such as a proxy's.
const unread = "UnknownError"

// verdict is the meaning of an error. kind identifies the problem, text is its warning.
type verdict struct {
	kind    string
	now     bool // an operator has to act
	forGood bool // the same call never succeeds
	text    string
}

// judge returns the verdict on an error, by "Common Errors" of the CloudWatch API reference.
func judge(err error) verdict {
	code, status := "", 0
	if coded, ok := errors.AsType[smithy.APIError](err); ok {
		code = coded.ErrorCode()
	}
	if answered, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = answered.HTTPStatusCode()
	}
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(code, part) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return verdict{}
	case errors.Is(err, errNoRegion):
		return verdict{kind: "region", now: true, text: "metrics cannot be sent to CloudWatch"}
	case has("Throttl", "TooManyRequests", "RequestLimit", "LimitExceeded", "SlowDown") || status == http.StatusTooManyRequests:
		return verdict{kind: "throttled", text: "CloudWatch throttles PutMetricData: raise Interval, or request a higher quota of calls per second for this account and region"}
	case has("AccessDenied", "NotAuthorized", "Unauthorized"):
		return verdict{kind: "denied", now: true, text: `CloudWatch refuses metrics of the namespace "{namespace}": the role needs cloudwatch:PutMetricData for the resource *. A condition, if there is one, must allow StringEquals cloudwatch:namespace {namespace}`}
	case has("Skewed", "RequestExpired", "Signature", "InvalidClientToken", "UnrecognizedClient", "ExpiredToken", "MissingAuthentication", "OptInRequired") ||
		status == http.StatusUnauthorized || status == http.StatusForbidden:
		return verdict{kind: "credentials", now: true, text: `CloudWatch does not accept the credentials or the time of calls for the namespace "{namespace}": check the role and the clock`}
	case status == http.StatusRequestEntityTooLarge || status >= 400 && status < 500 && status != http.StatusRequestTimeout && code != "" && code != unread:
		return verdict{kind: "invalid", now: true, forGood: true, text: `CloudWatch does not accept these metrics in the namespace "{namespace}": see the reason, and check the clock, since data may be at most two weeks old and two hours ahead`}
	case errors.Is(err, context.DeadlineExceeded):
		return verdict{kind: "silent", text: "CloudWatch does not answer: check the network path, such as a NAT gateway or a VPC endpoint for monitoring"}
	}
	return verdict{kind: "failing", text: "metrics cannot be sent to CloudWatch: see the reason, and check the network path, such as a NAT gateway, a proxy or a VPC endpoint for monitoring"}
}

// trouble reports problems: each kind once, and then once an hour.
type trouble struct {
	namespace string
	warn      func(batch.Warning)

	mu     sync.Mutex
	warned map[string]time.Time // latest warning, by kind
}

// over forgets all problems after a success, so that the next one is reported at once.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.warned)
}

func (t *trouble) failed(v verdict, failures int, err error) {
	if !v.now && failures < patience {
		return
	}
	t.warnHourly(v.kind, batch.Warning{Message: strings.ReplaceAll(v.text, "{namespace}", t.namespace), Err: err})
}

func (t *trouble) dropped(n int) {
	if n > 0 {
		t.warnHourly("dropped", batch.Warning{Message: "metrics for CloudWatch are dropped, the oldest first, because too many wait to be sent. Records are not affected"})
	}
}

func (t *trouble) left(n int) {
	t.warnHourly("left", batch.Warning{Message: fmt.Sprintf("%d metric data could not be sent to CloudWatch before the stop. Records are not affected", n)})
}

// warnHourly warns, unless it has warned of the same kind of problem within an hour.
func (t *trouble) warnHourly(kind string, w batch.Warning) {
	t.mu.Lock()
	at, warned := t.warned[kind]
	due := !warned || time.Since(at) >= remindEvery
	if due {
		t.warned[kind] = time.Now()
	}
	t.mu.Unlock()
	if due {
		t.warn(w)
	}
}
