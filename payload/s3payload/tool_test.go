package s3payload_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sqsbatch/sqsbatch/internal/s3body"
)

// sdkLess returns the client of `sqsbatch dlq show` for a fake, at AWS's endpoint.
func sdkLess(f *fakeS3, region string) *s3body.Client {
	return s3body.NewClient(aws.Config{
		Region: region, HTTPClient: &http.Client{Transport: f}, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// requested is what an answer of S3 is asked for.
type requested struct{ url, scope string }

// The client of the tool calls the URLs that the SDK's client calls, in the same region.
func TestToolsClient_CallsWhatTheSDKCalls(t *testing.T) {
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value) // for the end of the test
			ok(t, os.Unsetenv(name))
		}
	}
	settings := t.TempDir() + "/config"
	ok(t, os.WriteFile(settings, []byte("[default]\nservices = local\n[services local]\ns3 =\n  endpoint_url = http://of-the-profile.test\n"), 0o600))
	profile := map[string]string{"AWS_CONFIG_FILE": settings}
	for _, c := range []struct {
		region, bucket, key string
		environment         map[string]string
	}{
		{"eu-west-1", "payloads", "a/1", nil},
		{"us-east-1", "payloads", "ä b+c%/~*'()&=?#;:@$,!//.x", nil},
		{"cn-north-1", "payloads", "a", nil},
		{"us-gov-west-1", "with.dots", "a/1", nil},
		{"eu-west-1", "Upper_Case", "a/1", nil},
		{"eu-west-1", "arn:aws:s3:eu-west-1:123456789012:accesspoint/orders", "a/1", nil},
		{"us-east-1", "payloads", "a", map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}},
		{"us-east-1", "payloads", "a", map[string]string{"AWS_USE_DUALSTACK_ENDPOINT": "true"}},
		{"us-east-1", "with.dots", "a", map[string]string{"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"}},
		{"eu-west-1", "payloads", "a/1", map[string]string{"AWS_ENDPOINT_URL": "http://s3.test:9000"}},
		{"eu-west-1", "payloads", "ü/1", map[string]string{"AWS_ENDPOINT_URL": "http://other.test", "AWS_ENDPOINT_URL_S3": "http://s3.test:9000/below/"}},
		{"eu-west-1", "payloads", "a", map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3.test", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}},
		{"eu-west-1", "payloads", "a", profile},
	} {
		t.Run(c.region+" "+c.bucket, func(t *testing.T) {
			t.Setenv("AWS_CONFIG_FILE", os.DevNull)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
			for name, value := range c.environment {
				t.Setenv(name, value)
			}
			f := newS3(t)
			var calls []requested
			f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
				_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=test/20")
				scope, _, _ = strings.Cut(scope, ",")
				calls = append(calls, requested{strings.TrimSuffix(r.URL.String(), "?x-id=GetObject"), scope})
				return f.answer(r, 200, order), nil
			}
			cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(c.region), config.WithHTTPClient(&http.Client{Transport: f}),
				config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
			ok(t, err)
			sdk := s3.NewFromConfig(cfg, func(o *s3.Options) {
				o.UsePathStyle, o.DisableLogOutputChecksumValidationSkipped = o.BaseEndpoint != nil, true
			})
			out, err := sdk.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &c.bucket, Key: &c.key})
			ok(t, err)
			ok(t, out.Body.Close())
			body, err := s3body.NewClient(cfg).Get(t.Context(), s3body.Pointer{Bucket: c.bucket, Key: c.key}, 1000)
			if err != nil || body != order || len(calls) != 2 || calls[0] != calls[1] {
				t.Errorf("%q, %v\n%+v", body, err, calls)
			}
		})
	}
}

// The error names the object. It says in which region a bucket is, and nothing is sent there.
func TestToolsClient_Errors(t *testing.T) {
	p := s3body.Pointer{Bucket: "payloads", Key: "a/1"}
	redirect := func(status int) func(f *fakeS3, r *http.Request) (*http.Response, error) {
		return func(f *fakeS3, r *http.Request) (*http.Response, error) {
			a := f.refuse(r, status, "PermanentRedirect")
			a.Header.Set("X-Amz-Bucket-Region", "eu-south-1")
			a.Header.Set("Location", "https://payloads.s3.eu-south-1.amazonaws.com/a/1")
			return a, nil
		}
	}
	for want, c := range map[string]struct {
		p      s3body.Pointer
		answer func(f *fakeS3, r *http.Request) (*http.Response, error)
		calls  int
	}{
		"S3 answers NoSuchKey":          {p, nil, 1},
		`the bucket is in region "eu-s`: {p, redirect(301), 1},
		`the bucket is in region "eu-`:  {p, redirect(307), 1},
		`the bucket is in region "e`:    {p, redirect(400), 1},
		"larger than 1000 bytes": {p, func(f *fakeS3, r *http.Request) (*http.Response, error) {
			return f.answer(r, 200, strings.Repeat("x", 1001)), nil
		}, 1},
		"larger than 1000 byte": {p, func(f *fakeS3, r *http.Request) (*http.Response, error) {
			a := f.answer(r, 200, strings.Repeat("x", 1001))
			a.ContentLength = -1
			return a, nil
		}, 1},
		"S3 answers SlowDown": {p, func(f *fakeS3, r *http.Request) (*http.Response, error) { return f.refuse(r, 503, "SlowDown"), nil }, 3},
		"S3 answers 502": {p, func(f *fakeS3, r *http.Request) (*http.Response, error) {
			a := f.answer(r, 502, "a proxy")
			a.Status = "502 Bad Gateway"
			return a, nil
		}, 3},
		"unexpected EOF":                  {p, func(f *fakeS3, r *http.Request) (*http.Response, error) { return f.cutOff(r, order, 9), nil }, 3},
		"cannot be reached":               {p, func(*fakeS3, *http.Request) (*http.Response, error) { return nil, errReach }, 3},
		"not the name of a bucket":        {s3body.Pointer{Bucket: "..", Key: "a"}, nil, 0},
		"not the name of a bucket, nor":   {s3body.Pointer{Bucket: "payloads/x", Key: "a"}, nil, 0},
		"not the name of a bucket, nor t": {s3body.Pointer{Bucket: "arn:aws:s3:x.test/:123456789012:accesspoint/orders", Key: "a"}, nil, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newS3(t)
			if c.answer != nil {
				f.fault = func(r *http.Request, _, _ string) (*http.Response, error) { return c.answer(f, r) }
			}
			_, err := sdkLess(f, "eu-west-1").Get(t.Context(), c.p, 1000)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `object "`+c.p.Key+`" of bucket "`+c.p.Bucket+`"`) || len(f.calls) != c.calls {
				t.Errorf("%v after %d calls, want %q", err, len(f.calls), want)
			}
		})
	}
	f := newS3(t, "a/1")
	if _, err := sdkLess(f, "").Get(t.Context(), p, 1000); err == nil || !strings.Contains(err.Error(), "no region") {
		t.Error(err)
	}
	if _, err := s3body.NewClient(aws.Config{Region: "eu-west-1"}).Get(t.Context(), p, 1000); err == nil || !strings.Contains(err.Error(), "no AWS credentials") {
		t.Error(err)
	}
}

var errReach = errors.New("cannot be reached")
