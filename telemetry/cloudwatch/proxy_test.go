package cloudwatch_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

// proxied is a way to CloudWatch that answers by itself up to a time.
type proxied struct {
	*fake
	status int
	body   string
	until  time.Time
}

func (p *proxied) Do(r *http.Request) (*http.Response, error) {
	if !time.Now().Before(p.until) {
		return p.fake.Do(r)
	}
	return &http.Response{StatusCode: p.status, Header: http.Header{"Content-Type": {"text/html"}},
		Body: io.NopCloser(bytes.NewReader([]byte(p.body))), Request: r}, nil
}

// What stands between here and CloudWatch knows nothing of the data: whatever
// it answers, they wait, until one says that they are too large.
func TestAProxyDropsNothing(t *testing.T) {
	for _, body := range []string{"", "<html>Proxy Authentication Required</html>", `{"message":"no Route matched"}`} {
		for status, again := range map[int]bool{400: true, 401: true, 403: true, 404: true, 407: true, 408: true, 421: true, 502: true, 413: false} {
			t.Run(fmt.Sprint(status, body), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fake{t: t}
					p := &proxied{fake: f, status: status, body: body, until: time.Now().Add(30 * time.Minute)}
					h := cloudwatch.New(cloudwatch.Options{Service: "orders", Warnings: f, Client: sdk.New(sdk.Options{Region: "eu-west-1", HTTPClient: p,
						Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})})
					settle(h, orders, time.Millisecond)
					time.Sleep(time.Hour)
					if _, n := f.total("RecordsSucceeded"); n == 1 != again || h.Dropped() > 0 == again {
						t.Errorf("put %g times, dropped %d data", n, h.Dropped())
					}
					if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0].Err.Error(), fmt.Sprint("StatusCode: ", status)) {
						t.Errorf("warned %+v", w)
					}
				})
			})
		}
	}
}
