package awscall_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/live/awscall"
)

// A fake answers requests, and notes them.
type fake struct {
	requests []*http.Request
	answer   func(n int, r *http.Request) (*http.Response, error)
}

func (f *fake) Do(r *http.Request) (*http.Response, error) {
	f.requests = append(f.requests, r)
	return f.answer(len(f.requests), r)
}

func says(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func client(region string, f *fake) *awscall.Client {
	return awscall.New(aws.Config{Region: region, HTTPClient: f, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}, nil)
}

var scope = regexp.MustCompile(`Credential=test/\d+/([^/]+/[^/]+)/aws4_request`)

// at is where a request goes, and what signs it.
func at(r *http.Request) string {
	m := append(scope.FindStringSubmatch(r.Header.Get("Authorization")), "", "")
	return r.URL.Scheme + "://" + r.URL.Host + " " + m[1]
}

// Each service is called at its endpoint in the partition ("AWS service endpoints" in the AWS General
// Reference).
func TestClient_CallsTheEndpointsOfEachPartition(t *testing.T) {
	for _, c := range []struct {
		region  string
		service awscall.Service
		want    string
	}{
		{"eu-west-1", awscall.Lambda, "https://lambda.eu-west-1.amazonaws.com eu-west-1/lambda"},
		{"eu-west-1", awscall.IAM, "https://iam.amazonaws.com us-east-1/iam"},
		{"cn-north-1", awscall.IAM, "https://iam.cn-north-1.amazonaws.com.cn cn-north-1/iam"},
		{"cn-northwest-1", awscall.IAM, "https://iam.cn-north-1.amazonaws.com.cn cn-north-1/iam"},
		{"us-gov-east-1", awscall.IAM, "https://iam.us-gov.amazonaws.com us-gov-west-1/iam"},
		{"us-iso-east-1", awscall.IAM, "https://iam.us-iso-east-1.c2s.ic.gov us-iso-east-1/iam"},
		{"cn-north-1", awscall.KMS, "https://kms.cn-north-1.amazonaws.com.cn cn-north-1/kms"},
		{"us-gov-west-1", awscall.SNS, "https://sns.us-gov-west-1.amazonaws.com us-gov-west-1/sns"},
		{"eu-west-1", awscall.CloudWatch, "https://monitoring.eu-west-1.amazonaws.com eu-west-1/monitoring"},
	} {
		f := &fake{answer: func(int, *http.Request) (*http.Response, error) { return says(200, "{}"), nil }}
		golden.OK(t, client(c.region, f).Get(t.Context(), c.service, "Any", "/any", nil, &struct{}{}))
		if got := at(f.requests[0]); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.service.ID, c.region, got, c.want)
		}
	}
}

// The SDK's client of CloudWatch and this one call the same host, whatever the configuration says.
func TestClient_CallsWhatTheSDKCalls(t *testing.T) {
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value) // for the end of the test
			golden.OK(t, os.Unsetenv(name))
		}
	}
	profile := golden.File(t, "config", "[default]\nservices = local\n[services local]\ncloudwatch =\n  endpoint_url = http://of-the-profile.test\n")
	for _, c := range []struct {
		region      string
		environment map[string]string
	}{
		{"eu-west-1", nil}, {"cn-north-1", nil}, {"us-gov-west-1", nil}, {"us-iso-east-1", nil}, {"eusc-de-east-1", nil},
		{"us-east-1", map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}},
		{"us-gov-west-1", map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}},
		{"eu-west-1", map[string]string{"AWS_ENDPOINT_URL": "http://aws.test:9000"}},
		{"eu-west-1", map[string]string{"AWS_ENDPOINT_URL": "http://other.test", "AWS_ENDPOINT_URL_CLOUDWATCH": "http://aws.test:9000"}},
		{"eu-west-1", map[string]string{"AWS_ENDPOINT_URL_CLOUDWATCH": "http://aws.test", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}},
		{"eu-west-1", map[string]string{"AWS_CONFIG_FILE": profile}},
		{"eu-west-1", map[string]string{"AWS_CONFIG_FILE": profile, "AWS_ENDPOINT_URL": "http://aws.test:9000"}},
	} {
		t.Run(c.region, func(t *testing.T) {
			t.Setenv("AWS_CONFIG_FILE", os.DevNull)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
			for name, value := range c.environment {
				t.Setenv(name, value)
			}
			f := &fake{answer: func(int, *http.Request) (*http.Response, error) { return nil, errors.New("enough") }}
			cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(c.region), config.WithHTTPClient(f), config.WithRetryMaxAttempts(1),
				config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
			golden.OK(t, err)
			_, _ = cloudwatch.NewFromConfig(cfg).DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{}) // it fails
			synctest.Test(t, func(t *testing.T) {
				_ = awscall.New(cfg, nil).Query(t.Context(), awscall.CloudWatch, "DescribeAlarms", nil, nil) // it fails
			})
			if got, want := at(f.requests[1]), at(f.requests[0]); got != want {
				t.Errorf("%v: %s, want %s", c.environment, got, want)
			}
		})
	}
}

func TestClient_WritesTheProtocols(t *testing.T) {
	f := &fake{answer: func(n int, _ *http.Request) (*http.Response, error) {
		return says(200, []string{`{"NextMarker": "2"}`, "<A><B>3</B></A>", `{"Policy": "4"}`}[n-1]), nil
	}}
	c := client("eu-west-1", f)
	var lambda struct{ NextMarker string }
	var query struct{ B string }
	var key struct{ Policy string }
	golden.OK(t, c.Get(t.Context(), awscall.Lambda, "ListEventSourceMappings", "/2015-03-31/event-source-mappings", url.Values{"EventSourceArn": {"arn:aws:sqs:a b"}}, &lambda))
	golden.OK(t, c.Query(t.Context(), awscall.IAM, "GetRolePolicy", url.Values{"RoleName": {"a&b"}}, &query))
	golden.OK(t, c.JSON(t.Context(), awscall.KMS, "GetKeyPolicy", map[string]string{"KeyId": "k"}, &key))
	if lambda.NextMarker != "2" || query.B != "3" || key.Policy != "4" {
		t.Error(lambda, query, key)
	}
	for i, want := range []string{
		"GET /2015-03-31/event-source-mappings?EventSourceArn=arn%3Aaws%3Asqs%3Aa%20b  ",
		"POST / application/x-www-form-urlencoded; charset=utf-8 Action=GetRolePolicy&RoleName=a%26b&Version=2010-05-08",
		`POST / application/x-amz-json-1.1 {"KeyId":"k"}`,
	} {
		r := f.requests[i]
		body, _ := io.ReadAll(r.Body)
		if got := r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Content-Type") + " " + string(body); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if target := f.requests[2].Header.Get("X-Amz-Target"); target != "TrentService.GetKeyPolicy" {
		t.Error(target)
	}
	if n := c.Requests(); n["lambda"] != 1 || n["iam"] != 1 || n["kms"] != 1 {
		t.Error(n)
	}
}

// The forms of errors are those of each protocol.
func TestError_NamesTheCodeAndThePermission(t *testing.T) {
	const denied = "lambda:Any: AccessDeniedException (no policy allows it); allow lambda:Any"
	for want, answer := range map[string]*http.Response{
		denied:        says(403, `{"Message":"no policy allows it"}`, "X-Amzn-Errortype", "AccessDeniedException"),
		denied + "@":  says(400, `{"__type":"com.amazon.coral#AccessDeniedException","message":"no policy allows it"}`),
		denied + "@@": says(403, `{"Message":"no policy allows it"}`, "X-Amzn-Errortype", "AccessDeniedException:http://internal"),
		"lambda:Any: AccessDenied (not you); allow lambda:Any": says(403, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`),
		"lambda:Any: HTTP Not Found":                           says(404, "<html>"),
		"lambda:Any: NoSuchEntity (none)":                      says(404, `<ErrorResponse><Error><Code>NoSuchEntity</Code><Message>none</Message></Error></ErrorResponse>`),
		"lambda:Any: the answer cannot be read":                says(200, "nothing"),
		"lambda:Any: the answer is larger than 16 MiB":         says(200, strings.Repeat(" ", 16<<20+1)),
	} {
		f := &fake{answer: func(int, *http.Request) (*http.Response, error) { return answer, nil }}
		err := client("eu-west-1", f).Get(t.Context(), awscall.Lambda, "Any", "/", nil, &struct{}{})
		if err == nil || err.Error() != strings.TrimRight(want, "@") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A call is repeated while AWS throttles it or fails, not when AWS refuses it.
func TestCall_IsRepeatedWhileItMaySucceed(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		calls  int
	}{
		"throttled":     {400, `{"__type":"ThrottlingException"}`, 8},
		"too many":      {429, `{}`, 8},
		"fails":         {503, "<html>", 8},
		"refused":       {403, `{"__type":"AccessDeniedException"}`, 1},
		"does not have": {404, `{"__type":"ResourceNotFoundException"}`, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(int, *http.Request) (*http.Response, error) { return says(c.status, c.body), nil }}
			err := client("eu-west-1", f).Get(t.Context(), awscall.Lambda, "Any", "/", nil, &struct{}{})
			if err == nil || len(f.requests) != c.calls {
				t.Errorf("%s: %d calls, want %d (%v)", name, len(f.requests), c.calls, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n < 3 {
				return says(500, ""), nil
			}
			return says(200, "{}"), nil
		}}
		golden.OK(t, client("eu-west-1", f).Get(t.Context(), awscall.Lambda, "Any", "/", nil, &struct{}{}))
	})
}

// In a network without a way to a service, the first call to it takes 20 s, and the others no time.
func TestCall_ServiceDoesNotAnswer_IsNotCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: r.Context().Err()}
		}}
		c, start := client("eu-west-1", f), time.Now()
		for range 3 {
			err := c.Query(t.Context(), awscall.IAM, "ListRolePolicies", nil, nil)
			if err == nil || !strings.Contains(err.Error(), "iam:ListRolePolicies: no answer from iam.amazonaws.com") {
				t.Error(err)
			}
		}
		if took := time.Since(start).Round(time.Second); len(f.requests) != 2 || took != 20*time.Second {
			t.Errorf("%d calls in %v", len(f.requests), took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f := &fake{answer: func(_ int, r *http.Request) (*http.Response, error) { return nil, r.Context().Err() }}
		if err := client("eu-west-1", f).Get(ctx, awscall.Lambda, "Any", "/", nil, nil); err == nil || len(f.requests) > 1 {
			t.Error(err, len(f.requests))
		}
	})
}

func TestCall_WithoutRegionOrCredentials_SaysSo(t *testing.T) {
	f := &fake{}
	if err := client("", f).Get(t.Context(), awscall.Lambda, "Any", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "--region") {
		t.Error(err)
	}
	c := awscall.New(aws.Config{Region: "eu-west-1", HTTPClient: f}, nil)
	if err := c.Get(t.Context(), awscall.Lambda, "Any", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "no AWS credentials") {
		t.Error(err)
	}
	c = awscall.New(aws.Config{Region: "eu-west-1", HTTPClient: f}, func(string) string { return "localhost:4566" })
	if err := c.Get(t.Context(), awscall.Lambda, "Any", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "must be a URL") {
		t.Error(err)
	}
}
