package checks_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// proxy is a transport that breaks what it transports.
type proxy struct {
	inner         http.RoundTripper
	mu            sync.Mutex
	before, after func(*call)
}

func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") == "" {
		return p.form(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c := &call{op: op}
	if err := decode(body, &c.in); err != nil {
		return nil, err
	}
	p.run(p.before, c)
	time.Sleep(c.pause)
	if !c.skip {
		if body, err = json.Marshal(c.in); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("X-Amz-Target", "AmazonSQS."+c.op)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		response, err := p.inner.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(response.Body); err != nil {
			return nil, err
		}
		c.status, c.header = response.StatusCode, response.Header
		if c.empty, c.out = len(body) == 0, map[string]any{}; !c.empty {
			if err := decode(body, &c.out); err != nil {
				return nil, err
			}
		}
	}
	p.run(p.after, c)
	if body = nil; !c.empty || len(c.out) > 0 {
		if body, err = json.Marshal(c.out); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// form passes a request of the query protocol: as it is, or to an answer in its place.
func (p *proxy) form(r *http.Request) (*http.Response, error) {
	c := &call{form: true}
	p.run(p.before, c)
	if !c.skip {
		return p.inner.RoundTrip(r)
	}
	return &http.Response{StatusCode: c.status, Header: http.Header{}, Request: r, Body: http.NoBody}, nil
}

// decode keeps numbers as they are written.
func decode(body []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(into)
}

func (p *proxy) run(do func(*call), c *call) {
	if do != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		do(c)
	}
}
