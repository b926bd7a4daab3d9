package s3body

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// A Client reads objects. It calls the hosts that a client of the SDK calls with the same
// configuration.
type Client struct {
	cfg      aws.Config
	endpoint string // that of the configuration, "" for AWS's
	host     string // of AWS's endpoint, without the region
	signer   *v4.Signer
	http     http.Client
}

// NewClient returns a Client. Its region is that of cfg.
func NewClient(cfg aws.Config) *Client {
	c := &Client{cfg: cfg, endpoint: endpoint.Configured(&cfg, "S3"), host: "s3"}
	type dualStack interface {
		GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
	}
	if endpoint.FIPS(&cfg) {
		c.host += "-fips"
	}
	if endpoint.Setting(&cfg, dualStack.GetUseDualStackEndpoint) == aws.DualStackEndpointStateEnabled {
		c.host += ".dualstack"
	}
	c.signer = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }) // as all calls of S3
	// A redirect is to another host, for which the signature is wrong.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	switch client := cfg.HTTPClient.(type) {
	case *awshttp.BuildableClient: // with AWS_CA_BUNDLE
		c.http.Transport = client.GetTransport()
	case *http.Client:
		c.http.Transport = client.Transport
	}
	return c
}

// Names that can be a part of a host ("General purpose bucket naming rules", "Referencing access
// points" in the Amazon S3 User Guide). Others are in the path, as those with a period. Nothing
// else may be: the name is from a message.
var (
	pathName    = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{2,254}$`)
	hostName    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)
	accessPoint = regexp.MustCompile(`^arn:[a-z-]+:s3:([a-z0-9-]+):([0-9]{12}):accesspoint[:/]([a-z0-9-]{3,50})$`)
)

// place returns the URL of an object, and the region.
func (c *Client) place(p Pointer) (u *url.URL, region string, err error) {
	region = c.cfg.Region
	arn := accessPoint.FindStringSubmatch(p.Bucket)
	if arn != nil {
		region = arn[1]
	}
	suffix := "." + region + endpoint.Suffix(region)
	u = &url.URL{Scheme: "https", Host: c.host + suffix}
	path := "/" + p.Key
	switch {
	case region == "":
		return nil, "", errors.New("no region: set AWS_REGION")
	case c.endpoint == "" && arn != nil:
		u.Host = arn[3] + "-" + arn[2] + strings.Replace(u.Host, "s3", ".s3-accesspoint", 1)
	case c.endpoint == "" && hostName.MatchString(p.Bucket):
		u.Host = p.Bucket + "." + u.Host
	case !pathName.MatchString(p.Bucket):
		return nil, "", errors.New("not the name of a bucket, nor the ARN of an access point at AWS's own endpoint")
	default:
		path = "/" + p.Bucket + path
		if c.endpoint != "" {
			if u, err = url.Parse(c.endpoint); err != nil {
				return nil, "", err
			}
		}
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawPath = httpbinding.EscapePath(u.Path, false)
	return u, region, nil
}

// tries is how often S3 is asked while it does not answer or has a fault, as by the SDK.
const tries = 3

// Get returns the text of an object of at most limit bytes. The error names the object.
func (c *Client) Get(ctx context.Context, p Pointer, limit int64) (text string, err error) {
	for failures := 1; ; failures++ {
		again := false
		text, again, err = c.try(ctx, p, limit)
		if !again || failures == tries || !sleep.For(ctx, sleep.Backoff(failures, 200*time.Millisecond, 5*time.Second)) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("object %q of bucket %q: %w", p.Key, p.Bucket, err)
	}
	return text, err
}

// emptySHA256 is the digest of no body.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// try makes one call. again says that another may succeed.
func (c *Client) try(ctx context.Context, p Pointer, limit int64) (text string, again bool, err error) {
	u, region, err := c.place(p)
	if err != nil {
		return "", false, err
	}
	if c.cfg.Credentials == nil {
		return "", false, errors.New("no AWS credentials")
	}
	credentials, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return "", false, err
	}
	r := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{"X-Amz-Content-Sha256": {emptySHA256}}}).WithContext(ctx)
	if err := c.signer.SignHTTP(ctx, credentials, r, emptySHA256, "s3", region, time.Now()); err != nil {
		return "", false, err
	}
	r.Header.Set("Accept-Encoding", "identity") // or the transport would decompress the object
	answer, err := c.http.Do(r)
	if err != nil {
		return "", ctx.Err() == nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", answer.StatusCode >= 500, refusal(answer, region)
	}
	if answer.ContentLength > limit {
		return "", false, tooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		return "", false, tooLarge(limit)
	}
	return string(body), err != nil, err
}

func tooLarge(limit int64) error { return fmt.Errorf("larger than %d bytes", limit) }

// refusal is the error of an answer that is not the object.
func refusal(answer *http.Response, region string) error {
	if in := answer.Header.Get("X-Amz-Bucket-Region"); in != "" && in != region {
		return fmt.Errorf("the bucket is in region %q, not in %s, where it was looked for", in, region)
	}
	var said struct{ Code, Message string }
	_ = xml.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&said) // else the status says it
	if said.Code == "" {
		return fmt.Errorf("S3 answers %s", answer.Status)
	}
	return fmt.Errorf("S3 answers %s: %q", said.Code, said.Message)
}
