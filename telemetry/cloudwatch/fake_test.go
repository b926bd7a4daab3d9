package cloudwatch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/encoding/cbor"
	"github.com/aws/smithy-go/middleware"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is CloudWatch, for a real client: it measures what comes over the wire, and
// holds it to the documented limits.
type fake struct {
	t testing.TB
	// answer, if set, decides what happens to the nth call.
	answer func(ctx context.Context, n int) (status int, code string, err error)

	// ahead is by how much its clock is ahead of this machine's.
	ahead time.Duration

	panics bool // each warning

	mu    sync.Mutex
	calls int
	puts  []put
	warns []batch.Warning
}

// put is a call that was answered with success.
type put struct {
	at         time.Time
	namespace  string
	bytes      int64
	compressed bool
	data       []got
}

type got struct{ types.MetricDatum }

func (g got) dimensions() map[string]string {
	all := map[string]string{}
	for _, d := range g.Dimensions {
		all[*d.Name] = *d.Value
	}
	return all
}

// sum and count are what CloudWatch makes of a datum.
func (g got) sum() (sum, count float64) {
	if g.Values == nil {
		return *g.Value, 1
	}
	for i, v := range g.Values {
		sum, count = sum+v*g.Counts[i], count+g.Counts[i]
	}
	return sum, count
}

type inputKey struct{}

func (f *fake) client() *sdk.Client {
	keep := middleware.InitializeMiddlewareFunc("input", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(context.WithValue(ctx, inputKey{}, in.Parameters), in)
	})
	return sdk.New(sdk.Options{
		Region: "eu-west-1", HTTPClient: f,
		Credentials:                 credentials.NewStaticCredentialsProvider("test", "test", ""),
		RequestMinCompressSizeBytes: 10240, // the default of package config
		APIOptions:                  []func(*middleware.Stack) error{func(s *middleware.Stack) error { return s.Initialize.Add(keep, middleware.After) }},
	})
}

// virtual runs a test in virtual time, with a hook whose calls and warnings go to f.
func virtual(t *testing.T, f *fake, o cloudwatch.Config, test func(t *testing.T, f *fake, h *cloudwatch.Exporter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		test(t, f, f.hook(o))
	})
}

// hook is one whose calls and warnings come here.
func (f *fake) hook(o cloudwatch.Config) *cloudwatch.Exporter {
	f.t.Helper()
	o.Client, o.Warned = f.client(), f.Warned
	if os.Getenv("AWS_LAMBDA_FUNCTION_NAME") == "" {
		o.Service = "orders"
	}
	h := cloudwatch.New(o)
	if err := h.Hooks().Validate(); err != nil {
		f.t.Fatal(err)
	}
	return h
}

func (f *fake) Warned(_ context.Context, w batch.Warning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warns = append(f.warns, w)
	if f.panics {
		panic("a hook")
	}
}

func (f *fake) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	n := f.calls
	f.calls++
	answer := f.answer
	f.mu.Unlock()
	status, code, body := http.StatusOK, "", cbor.Value(cbor.Map{})
	if answer != nil {
		var err error
		if status, code, err = answer(r.Context(), n); err != nil {
			return nil, err
		}
	}
	now := time.Now().Add(f.ahead).UTC()
	if signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")); err != nil || signed.Sub(now).Abs() > 5*time.Minute {
		status, code = http.StatusForbidden, "RequestTimeTooSkewed"
	}
	if status == http.StatusOK {
		f.keep(r)
	} else {
		body = cbor.Map{"__type": cbor.String("com.amazonaws.cloudwatch#" + code), "message": cbor.String("made to fail")}
	}
	if code == proxy { // it knows nothing of CloudWatch's protocol
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/html"}}, Body: io.NopCloser(strings.NewReader(`{"message":"no Route matched"}`)), Request: r}, nil
	}
	return &http.Response{StatusCode: status, Header: http.Header{
		"Smithy-Protocol": {"rpc-v2-cbor"}, "Content-Type": {"application/cbor"}, "Date": {now.Format(http.TimeFormat)}},
		Body: io.NopCloser(bytes.NewReader(cbor.Encode(body))), Request: r}, nil
}

func (f *fake) keep(r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/operation/PutMetricData") || r.URL.Host != "monitoring.eu-west-1.amazonaws.com" {
		f.t.Errorf("a call of %v", r.URL)
	}
	in := r.Context().Value(inputKey{}).(*sdk.PutMetricDataInput)
	p := put{at: time.Now(), namespace: *in.Namespace, compressed: r.Header.Get("Content-Encoding") == "gzip"}
	body, err := io.Reader(r.Body), error(nil)
	if p.compressed {
		body, err = gzip.NewReader(body)
	}
	if err == nil {
		p.bytes, err = io.Copy(io.Discard, body)
	}
	for _, d := range in.MetricData {
		f.check(got{d})
		p.data = append(p.data, got{d})
	}
	if err != nil || p.bytes > 1_000_000 || len(p.data) > 1000 || len(p.data) == 0 {
		f.t.Errorf("a call with %d bytes and %d data: %v", p.bytes, len(p.data), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts = append(f.puts, p)
}

func (f *fake) check(g got) {
	for _, n := range append(slices.Concat(g.Values, g.Counts), aws.ToFloat64(g.Value)) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			f.t.Errorf("%s is %v", *g.MetricName, n)
		}
	}
	if age := time.Since(*g.Timestamp); age < -2*time.Hour || age > 14*24*time.Hour {
		f.t.Errorf("data of %v", age)
	}
	for name, value := range g.dimensions() {
		if name == "" || len(name) > 255 || value == "" || len(value) > 1024 {
			f.t.Errorf("dimension %q: %q", name, value)
		}
	}
	if n := len(g.Dimensions); n != len(g.dimensions()) || n > 30 {
		f.t.Errorf("dimensions %v", g.dimensions())
	}
	if (g.Value == nil) == (g.Values == nil) || len(g.Values) > 150 || len(g.Values) != len(g.Counts) {
		f.t.Errorf("%s has value %v, %d values and %d counts", *g.MetricName, g.Value, len(g.Values), len(g.Counts))
	}
}

// all are the calls that succeeded, of a name the data.
func (f *fake) all() []put {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.puts)
}

func (f *fake) of(name string) (all []got) {
	for _, p := range f.all() {
		for _, g := range p.data {
			if *g.MetricName == name {
				all = append(all, g)
			}
		}
	}
	return all
}

// total is the sum of a metric's data, and of how many observations.
func (f *fake) total(name string) (sum, count float64) {
	for _, g := range f.of(name) {
		s, n := g.sum()
		sum, count = sum+s, count+n
	}
	return sum, count
}

func (f *fake) warnings() []batch.Warning {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.warns)
}

func (f *fake) recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = nil
}

func (f *fake) called() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// failing are answers: an error with a code until a time.
func failing(status int, code string, until time.Time) func(context.Context, int) (int, string, error) {
	return func(context.Context, int) (int, string, error) {
		if time.Now().Before(until) {
			return status, code, nil
		}
		return http.StatusOK, "", nil
	}
}

// proxy is the code of answers that something between here and CloudWatch gives.
const proxy = "StatusCode"

func silent(ctx context.Context, _ int) (int, string, error) {
	<-ctx.Done()
	return 0, "", errors.Join(errors.New("no answer"), ctx.Err())
}

const orders = "arn:aws:sqs:eu-west-1:123456789012:orders"

// settle reports a batch whose records took these times.
func settle(h *cloudwatch.Exporter, arn string, took ...time.Duration) {
	var results []batch.Result
	for _, d := range took {
		results = append(results, batch.Result{
			Record:  &batch.Record{QueueARN: arn, Attempt: 1, SentAt: time.Now().Add(-d - time.Second)},
			Outcome: batch.Succeeded, Started: time.Now().Add(-d), Duration: d, Allowed: 10 * d,
		})
	}
	h.Hooks().BatchSettled(context.Background(), batch.BatchInfo{Records: len(took), QueueARN: arn, Started: time.Now()}, results)
}
