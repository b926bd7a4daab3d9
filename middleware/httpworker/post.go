package httpworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

const (
	// maxIdle is how many idle connections are kept open: the daemon's default.
	maxIdle = 50
	// maxDrained is how much of an answer is read so that its connection can be reused.
	maxDrained = 64 << 10
)

// Post returns a handler that posts each record to a URL, with the record's deadline.
// client may be nil. Redirects are followed only if client has its own CheckRedirect: a
// redirected POST becomes a GET, whose 200 means nothing.
//
// Post returns an error if target is not an absolute URL of http or https.
func Post(target string, client *http.Client, o Config) (batch.HandlerFunc, error) {
	o = o.withDefaults()
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("httpworker: the URL cannot be read: %w", withoutURL(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("httpworker: the URL has the scheme %q and the host %q, must be http://HOST/PATH or https://HOST/PATH", u.Scheme, u.Host)
	}
	client = workers(client)
	return func(ctx context.Context, r batch.Record) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(r.Body))
		if err != nil {
			return fmt.Errorf("httpworker: %w", err)
		}
		request.Header = o.header(&r)
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("httpworker: POST %s%s: %w", u.Host, u.EscapedPath(), withoutURL(err))
		}
		defer func() { _ = response.Body.Close() }()
		_, broken := io.CopyN(io.Discard, response.Body, maxDrained)
		if status, ok := errors.AsType[*httpstatus.Error](httpstatus.Check(response)); ok {
			return failed(status)
		}
		if broken != nil && broken != io.EOF { // the worker may have ended while it answered
			return fmt.Errorf("httpworker: POST %s%s: the answer broke off: %w", u.Host, u.EscapedPath(), broken)
		}
		return nil
	}, nil
}

// withoutURL removes a URL, which may contain a secret, from an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err
}

// workers returns a copy of client that follows no redirect by default.
func workers(client *http.Client) *http.Client {
	var c http.Client
	if client != nil {
		c = *client
	} else if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone()
		transport.MaxIdleConnsPerHost = maxIdle
		c.Transport = transport
	}
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &c
}
