package cloudwatch_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/smithy-go/encoding/cbor"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is CloudWatch, for a real client: it reads what comes over the wire, and
// holds it to the documented limits.
type fake struct {
	t testing.TB
	// answer, if set, decides what happens to the nth call.
	answer func(ctx context.Context, n int) (status int, code string, err error)

	// ahead is by how much its clock is ahead of this machine's.
	ahead time.Duration

	mu    sync.Mutex
	calls int
	puts  []put
	warns []batch.Warning
}

// put is a call that was answered with success.
type put struct {
	at         time.Time
	namespace  string
	bytes      int
	compressed bool
	data       []got
}

type got struct {
	name, unit     string
	dimensions     map[string]string
	at             time.Time
	value          float64 // or
	values, counts []float64
	resolution     int32
}

// sum and count are what CloudWatch makes of a datum.
func (g got) sum() (sum, count float64) {
	if g.values == nil {
		return g.value, 1
	}
	for i, v := range g.values {
		sum, count = sum+v*g.counts[i], count+g.counts[i]
	}
	return sum, count
}

func (f *fake) client() *sdk.Client {
	return sdk.New(sdk.Options{
		Region: "eu-west-1", HTTPClient: f,
		Credentials:                 credentials.NewStaticCredentialsProvider("test", "test", ""),
		RequestMinCompressSizeBytes: 10240, // the default of package config
	})
}

// virtual runs a test in virtual time, with a hook whose calls and warnings go to f.
func virtual(t *testing.T, f *fake, o cloudwatch.Options, test func(t *testing.T, f *fake, h *cloudwatch.Hook)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		test(t, f, f.hook(o))
	})
}

// hook is one whose calls and warnings come here.
func (f *fake) hook(o cloudwatch.Options) *cloudwatch.Hook {
	f.t.Helper()
	o.Client, o.Warnings = f.client(), f
	o.Service = cmp.Or(o.Service, "orders")
	h := cloudwatch.New(o)
	if err := h.Validate(); err != nil {
		f.t.Fatal(err)
	}
	return h
}

func (f *fake) Warned(_ context.Context, w batch.Warning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.warns = append(f.warns, w)
}

// Do is the HTTP client.
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
	p := put{at: time.Now(), compressed: r.Header.Get("Content-Encoding") == "gzip"}
	body := io.Reader(r.Body)
	if p.compressed {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			f.t.Error(err)
			return
		}
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		f.t.Error(err)
		return
	}
	decoded, err := cbor.Decode(raw)
	if err != nil {
		f.t.Error(err)
		return
	}
	in := decoded.(cbor.Map)
	p.bytes, p.namespace = len(raw), string(in["Namespace"].(cbor.String))
	for _, d := range in["MetricData"].(cbor.List) {
		p.data = append(p.data, f.datum(d.(cbor.Map)))
	}
	if len(raw) > 1_000_000 || len(p.data) > 1000 || len(p.data) == 0 {
		f.t.Errorf("a call with %d bytes and %d data", len(raw), len(p.data))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts = append(f.puts, p)
}

func (f *fake) datum(m cbor.Map) got {
	numbers := func(v cbor.Value) []float64 {
		var all []float64
		list, _ := v.(cbor.List)
		for _, x := range list {
			n, err := cbor.AsFloat64(x)
			if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
				f.t.Errorf("%v is not a number: %v", x, err)
			}
			all = append(all, n)
		}
		return all
	}
	g := got{name: string(m["MetricName"].(cbor.String)), unit: string(m["Unit"].(cbor.String)), dimensions: map[string]string{},
		values: numbers(m["Values"]), counts: numbers(m["Counts"])}
	var err error
	if g.at, err = cbor.AsTime(m["Timestamp"]); err != nil {
		f.t.Error(err)
	}
	if age := time.Since(g.at); age < -2*time.Hour || age > 14*24*time.Hour {
		f.t.Errorf("data of %v", age)
	}
	for _, d := range m["Dimensions"].(cbor.List) {
		d := d.(cbor.Map)
		name, value := string(d["Name"].(cbor.String)), string(d["Value"].(cbor.String))
		if name == "" || len(name) > 255 || value == "" || len(value) > 1024 {
			f.t.Errorf("dimension %q: %q", name, value)
		}
		g.dimensions[name] = value
	}
	if len(g.dimensions) != len(m["Dimensions"].(cbor.List)) || len(g.dimensions) > 30 {
		f.t.Errorf("dimensions %v", m["Dimensions"])
	}
	if v, ok := m["StorageResolution"]; ok {
		if g.resolution, err = cbor.AsInt32(v); err != nil {
			f.t.Error(err)
		}
	}
	if v, ok := m["Value"]; ok == (g.values != nil) {
		f.t.Errorf("%s has value %v, values %v", g.name, v, g.values)
	} else if ok {
		g.value = numbers(cbor.List{v})[0]
	}
	if len(g.values) > 150 || len(g.values) != len(g.counts) {
		f.t.Errorf("%s has %d values and %d counts", g.name, len(g.values), len(g.counts))
	}
	return g
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
			if g.name == name {
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

// recover has every call answered from now on.
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

// silent is an endpoint that does not answer.
func silent(ctx context.Context, _ int) (int, string, error) {
	<-ctx.Done()
	return 0, "", errors.Join(errors.New("no answer"), ctx.Err())
}

const orders = "arn:aws:sqs:eu-west-1:123456789012:orders"

// settle tells of a batch whose records took these times.
func settle(h *cloudwatch.Hook, arn string, took ...time.Duration) {
	var results []batch.Result
	for _, d := range took {
		results = append(results, batch.Result{
			Record:  &batch.Record{QueueARN: arn, Attempt: 1, SentAt: time.Now().Add(-d - time.Second)},
			Outcome: batch.Succeeded, Started: time.Now().Add(-d), Duration: d, Allowed: 10 * d,
		})
	}
	h.BatchSettled(context.Background(), batch.BatchInfo{Records: len(took), QueueARN: arn}, results)
}
