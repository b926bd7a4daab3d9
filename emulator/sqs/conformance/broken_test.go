package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// breakage is a way for a service to be wrong, and the checks that must see it.
type breakage struct {
	name string
	// before and after are what a proxy does to requests and to answers. Either may
	// be nil. Calls come one at a time.
	before, after func(c *call)
	// fails are the IDs of checks that must fail, or patterns for them (path.Match).
	fails string
}

// call is one request and its answer, as the proxy has them.
type call struct {
	op     string
	form   bool // of the query protocol, without op, in and out
	in     map[string]any
	out    map[string]any
	empty  bool // nothing was answered, which out cannot tell
	status int
	header http.Header
	// skip answers in the service's place, with out, status and header.
	skip bool
	// pause passes between request and service.
	pause time.Duration
}

// refuse answers with an error of the service's own model.
func (c *call) refuse(shape, code string) {
	c.skip, c.status = true, http.StatusBadRequest
	c.out = map[string]any{"__type": shape, "message": "refused by the proxy"}
	c.header = http.Header{"X-Amzn-Query-Error": {code + ";Sender"}, "Content-Type": {"application/x-amz-json-1.0"}}
}

func (c *call) succeed() {
	c.skip, c.status, c.out, c.header = true, http.StatusOK, map[string]any{}, http.Header{}
}

func (c *call) messages() (all []map[string]any) {
	list, _ := c.out["Messages"].([]any)
	for _, m := range list {
		all = append(all, m.(map[string]any))
	}
	return all
}

// entries are the entries of a batch request, or the request itself.
func (c *call) entries() []map[string]any {
	list, ok := c.in["Entries"].([]any)
	if !ok {
		return []map[string]any{c.in}
	}
	var all []map[string]any
	for _, e := range list {
		all = append(all, e.(map[string]any))
	}
	return all
}

func (c *call) is(ops ...string) bool {
	return slices.Contains(ops, c.op)
}

// object is a field that is a JSON object; nil when it is none.
func object(m map[string]any, name string) map[string]any {
	o, _ := m[name].(map[string]any)
	return o
}

func str(v any) string { s, _ := v.(string); return s }

func onMessage(do func(m map[string]any)) func(*call) {
	return func(c *call) {
		for _, m := range c.messages() {
			do(m)
		}
	}
}

// onSystem changes the system attributes of received messages.
func onSystem(do func(attributes map[string]any)) func(*call) {
	return onMessage(func(m map[string]any) {
		if a := object(m, "Attributes"); a != nil {
			do(a)
		}
	})
}

func broken(t *testing.T, only string, b breakage) (results []Result) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client := newClient(server, func(inner http.RoundTripper) http.RoundTripper {
			return &proxy{inner: inner, before: b.before, after: b.after}
		})
		c := testConfig(client, only)
		c.Slow = true
		var err error
		if results, err = Run(t.Context(), c); err != nil {
			t.Error(err)
		}
	})
	return results
}

// chosen returns the IDs that the patterns of a breakage mean.
func (b breakage) chosen(t *testing.T) (ids []string) {
	for _, pattern := range strings.Fields(b.fails) {
		n := len(ids)
		for _, c := range All() {
			if ok, err := path.Match(pattern, c.ID); err != nil {
				t.Fatal(err)
			} else if ok {
				ids = append(ids, c.ID)
			}
		}
		if len(ids) == n {
			t.Errorf("%s: no check is named %s", b.name, pattern)
		}
	}
	return ids
}

// Each way of being wrong is seen by the checks that are there for it. Every other check fails
// on a service that only creates queues, or on one that refuses everything.
func TestChecksCanFail(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range breakages() {
		t.Run(b.name, func(t *testing.T) {
			for _, r := range broken(t, "^("+strings.Join(b.chosen(t), "|")+")$", b) {
				if seen[r.ID] = true; r.Err == nil {
					t.Errorf("%s holds", r.ID)
				}
			}
		})
	}
	for _, before := range []func(*call){
		func(c *call) {
			if !c.is("CreateQueue") {
				c.succeed()
			}
		},
		func(c *call) { c.refuse("com.amazonaws.sqs#OverLimit", "OverLimit") },
	} {
		for _, r := range broken(t, "", breakage{before: before}) {
			seen[r.ID] = seen[r.ID] || r.Err != nil
		}
	}
	for _, c := range All() {
		if !seen[c.ID] {
			t.Errorf("%s was never seen to fail", c.ID)
		}
	}
}

// The proxy by itself breaks nothing.
func TestProxyIsTransparent(t *testing.T) {
	for _, r := range broken(t, "", breakage{}) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
}

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
