// Package awscall calls Lambda, IAM, CloudWatch, KMS, SNS and STS without clients of the SDK, which
// would add a minute to the build of the tool. It signs requests with the SDK's signer, and reads
// answers of the services' JSON and query protocols.
//
//	c := awscall.New(cfg, nil)
//	var out struct{ PolicyNames []string `xml:"ListRolePoliciesResult>PolicyNames>member"` }
//	err := c.Query(ctx, awscall.IAM, "ListRolePolicies", url.Values{"RoleName": {"orders"}}, &out)
package awscall

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// A Service is one that is called.
type Service struct {
	ID      string // the SDK's, which is part of settings
	Name    string // in permissions
	host    string // of its endpoints, which is also its name in signatures
	version string // of its query protocol, or the prefix of its targets
}

// The services. Their versions are those of the API references.
var (
	Lambda     = Service{ID: "Lambda", Name: "lambda", host: "lambda"}
	IAM        = Service{ID: "IAM", Name: "iam", host: "iam", version: "2010-05-08"}
	CloudWatch = Service{ID: "CloudWatch", Name: "cloudwatch", host: "monitoring", version: "2010-08-01"}
	KMS        = Service{ID: "KMS", Name: "kms", host: "kms", version: "TrentService"}
	SNS        = Service{ID: "SNS", Name: "sns", host: "sns", version: "2010-03-31"}
	STS        = Service{ID: "STS", Name: "sts", host: "sts", version: "2011-06-15"}
)

// ofIAM are the hosts of IAM, and the regions that sign for it: a partition has one ("IAM
// endpoints and quotas"). Others have theirs in the region.
var ofIAM = map[string][2]string{
	"aws":        {"iam.amazonaws.com", "us-east-1"},
	"aws-cn":     {"iam.cn-north-1.amazonaws.com.cn", "cn-north-1"},
	"aws-us-gov": {"iam.us-gov.amazonaws.com", "us-gov-west-1"},
}

// A Client calls services in the region of its configuration. It may be used by several goroutines.
type Client struct {
	cfg      aws.Config
	endpoint func(id string) string
	signer   *v4.Signer

	mu       sync.Mutex
	requests map[string]int   // by the name of the service
	silent   map[string]error // services that did not answer
}

// New returns a Client. configured returns the endpoint of a service by its ID, "" for AWS's; nil is
// that of the configuration.
func New(cfg aws.Config, configured func(id string) string) *Client {
	if configured == nil {
		configured = func(id string) string { return endpoint.Configured(&cfg, id) }
	}
	return &Client{cfg: cfg, endpoint: configured, signer: v4.NewSigner(), requests: map[string]int{}, silent: map[string]error{}}
}

// Requests returns how many were made, by the name of the service.
func (c *Client) Requests() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.requests)
}

// An Error is that of a call.
type Error struct {
	Action  string // the permission that the call needs: lambda:GetFunctionConfiguration
	Code    string // of AWS, "" if it did not answer
	Message string
}

func (e *Error) Error() string {
	text := e.Action + ": " + e.Message
	switch {
	case e.Code != "" && e.Message != "":
		text = fmt.Sprintf("%s: %s (%s)", e.Action, e.Code, e.Message)
	case e.Code != "":
		text = e.Action + ": " + e.Code
	}
	if e.Refused() {
		text += "; allow " + e.Action
	}
	return text
}

// Refused reports whether the caller may not make the call.
func (e *Error) Refused() bool {
	return strings.Contains(e.Code, "AccessDenied") || strings.Contains(e.Code, "NotAuthorized") || strings.Contains(e.Code, "AuthorizationError") || e.Code == "UnauthorizedOperation"
}

// Code returns the code with which AWS answered, "" for another error.
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// Get makes a call of a REST protocol with JSON, that of Lambda.
func (c *Client) Get(ctx context.Context, s Service, operation, path string, query url.Values, out any) error {
	answer, err := c.call(ctx, s, operation, func(u *url.URL) (method, body string, header http.Header) {
		u.Path += path
		u.RawQuery = query.Encode()
		return http.MethodGet, "", nil
	})
	return decoded(s, operation, answer, err, out, json.Unmarshal)
}

// JSON makes a call of the JSON protocol, that of KMS.
func (c *Client) JSON(ctx context.Context, s Service, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := c.call(ctx, s, operation, func(u *url.URL) (method, _ string, header http.Header) {
		u.Path += "/"
		return http.MethodPost, string(body), http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {s.version + "." + operation}}
	})
	return decoded(s, operation, answer, err, out, json.Unmarshal)
}

// Query makes a call of the query protocol, whose answers are XML.
func (c *Client) Query(ctx context.Context, s Service, operation string, in url.Values, out any) error {
	form := url.Values{"Action": {operation}, "Version": {s.version}}
	for name, values := range in {
		form[name] = values
	}
	answer, err := c.call(ctx, s, operation, func(u *url.URL) (method, body string, header http.Header) {
		u.Path += "/"
		return http.MethodPost, form.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	})
	return decoded(s, operation, answer, err, out, xml.Unmarshal)
}

func decoded(s Service, operation string, answer []byte, err error, out any, decode func([]byte, any) error) error {
	if err != nil {
		return err
	}
	if err := decode(answer, out); err != nil {
		return &Error{Action: s.Name + ":" + operation, Message: "the answer cannot be read"}
	}
	return nil
}

const (
	tries      = 8                // of a call that is throttled or fails: 16 s
	silentMost = 2                // tries of a call without an answer
	timeout    = 10 * time.Second // of a try
	firstDelay = 200 * time.Millisecond
	lastDelay  = 5 * time.Second
	// maxAnswer bounds an answer. A page of 100 alarms with many metrics is the longest, below 6 MB.
	maxAnswer = 16 << 20
)

// call makes a call, and repeats it while AWS throttles it, fails or does not answer. A service that
// did not answer is not called again: its host may be out of reach for all calls.
func (c *Client) call(ctx context.Context, s Service, operation string, shape func(*url.URL) (method, body string, header http.Header)) ([]byte, error) {
	c.mu.Lock()
	err := c.silent[s.Name]
	c.mu.Unlock()
	if err != nil {
		return nil, &Error{Action: s.Name + ":" + operation, Message: err.Error()}
	}
	for failures := 1; ; failures++ {
		answer, again, err := c.try(ctx, s, shape)
		e, answered := errors.AsType[*Error](err)
		most := tries
		if !answered {
			most = silentMost
		}
		if err == nil || !again || failures >= most || !sleep.For(ctx, sleep.Backoff(failures, firstDelay, lastDelay)) {
			if err != nil && !answered {
				e = &Error{Message: err.Error()}
				c.mu.Lock()
				c.silent[s.Name] = err
				c.mu.Unlock()
			}
			if e == nil {
				return answer, nil
			}
			e.Action = s.Name + ":" + operation
			return nil, e
		}
	}
}

// try makes a call once. The error is an *Error if there is an answer. again says that another try may
// succeed.
func (c *Client) try(ctx context.Context, s Service, shape func(*url.URL) (method, body string, header http.Header)) (answer []byte, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	u, region, err := c.place(s)
	if err != nil {
		return nil, false, err
	}
	method, body, header := shape(u)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if c.cfg.Credentials == nil {
		return nil, false, errors.New("no AWS credentials")
	}
	credentials, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, false, err
	}
	sum := sha256.Sum256([]byte(body))
	if err := c.signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), s.host, region, time.Now()); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	c.requests[s.Name]++
	c.mu.Unlock()
	response, err := c.cfg.HTTPClient.Do(r)
	if err != nil {
		if urlError, ok := errors.AsType[*url.Error](err); ok {
			err = fmt.Errorf("no answer from %s: %w", u.Host, urlError.Err)
		}
		return nil, true, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, true, fmt.Errorf("the answer from %s ended: %w", u.Host, err)
	case len(answer) > maxAnswer:
		return nil, false, &Error{Message: fmt.Sprintf("the answer is larger than %d MiB", maxAnswer>>20)}
	case response.StatusCode/100 != 2:
		e := refusal(response, answer)
		return nil, response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests || throttled(e.Code), e
	}
	return answer, false, nil
}

// place returns where a service is called, and the region that signs.
func (c *Client) place(s Service) (u *url.URL, region string, err error) {
	region = c.cfg.Region
	partition, fips, host := endpoint.PartitionOf(region), endpoint.FIPS(&c.cfg), s.host
	if fips && (partition != "aws-us-gov" || s == Lambda || s == KMS) { // the others are validated as they are
		host += "-fips"
	}
	host += "." + region + endpoint.Suffix(region)
	if global, ok := ofIAM[partition]; ok && s == IAM {
		host, region = global[0], global[1]
		if fips && partition == "aws" {
			host = "iam-fips.amazonaws.com"
		}
	}
	if base := c.endpoint(s.ID); base != "" {
		if u, err = url.Parse(base); err != nil || u.Host == "" {
			return nil, "", fmt.Errorf("the endpoint of %s is %q; it must be a URL", s.ID, base)
		}
		u.Path = strings.TrimSuffix(u.Path, "/")
		return u, region, nil
	}
	if c.cfg.Region == "" {
		return nil, "", errors.New("no region: give --region, or set AWS_REGION")
	}
	return &url.URL{Scheme: "https", Host: host}, region, nil
}

// throttled reports whether a code asks for another try ("Retry behavior" in the AWS SDKs and Tools
// Reference Guide).
func throttled(code string) bool {
	return strings.Contains(code, "Throttl") || strings.Contains(code, "TooManyRequests") || strings.Contains(code, "RequestLimitExceeded") || code == "SlowDown"
}

// refusal reads the error of an answer: in JSON, with the code in a header or in __type, or in XML.
func refusal(response *http.Response, body []byte) *Error {
	var said struct {
		XMLName xml.Name
		Type    string `json:"__type" xml:"-"`
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		_ = xml.Unmarshal(body, &said) // else the status says it
	} else {
		_ = json.Unmarshal(body, &said)
	}
	code := cmp.Or(response.Header.Get("X-Amzn-Errortype"), said.Type, said.Code)
	code = code[strings.LastIndex(code, "#")+1:]
	code, _, _ = strings.Cut(code, ":")
	if code == "" {
		code = "HTTP " + response.Status
	}
	return &Error{Code: short(code), Message: short(said.Message)}
}

// short bounds a text of an answer.
func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), 500)], "") }
