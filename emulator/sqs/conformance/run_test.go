package main

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestListIsComplete(t *testing.T) {
	id := regexp.MustCompile(`^[a-z-]+/[A-Za-z0-9-]+$`)
	known := map[string]bool{}
	for _, c := range All() {
		switch {
		case known[c.ID]:
			t.Errorf("%s is there twice", c.ID)
		case !id.MatchString(c.ID) || !strings.HasPrefix(c.ID, c.Theme()+"/"):
			t.Errorf("the ID %q is not of the form theme/what", c.ID)
		case !strings.HasSuffix(c.Must, ".") || strings.Contains(c.Must, "\n"):
			t.Errorf("%s: %q is no sentence", c.ID, c.Must)
		case c.Page.Title == "" || !strings.HasPrefix(c.Page.URL, "https://docs.aws.amazon.com/") || !strings.HasSuffix(c.Page.URL, ".html"):
			t.Errorf("%s: page %+v", c.ID, c.Page)
		}
		known[c.ID] = true
	}
}

// testConfig returns the configuration of a test, in virtual time.
func testConfig(client *awssqs.Client, only string) Config {
	return Config{Client: client, Only: regexp.MustCompile(only), Prefix: newPrefix(), Parallel: 1000, Patience: 10 * time.Second, Timeout: time.Minute}
}

func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		var now, most atomic.Int32
		client := newClient(server, func(inner http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				time.Sleep(time.Millisecond)
				return inner.RoundTrip(r)
			})
		})
		c := testConfig(client, "^(names|tags)/")
		c.Parallel = 2
		_, err := Run(t.Context(), c)
		if err != nil || most.Load() != 2 {
			t.Errorf("%d calls at a time, want 2; error %v", most.Load(), err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// When the context ends the checks end, and their queues are deleted all the same.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client := newClient(server, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		c := testConfig(client, "")
		c.Parallel, c.Slow = 10, true
		results, err := Run(ctx, c)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		notRun := 0
		for _, r := range results {
			if r.Err != nil && !errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", r.ID, r.Err)
			}
			if r.Err != nil && strings.Contains(r.Err.Error(), "not run") {
				notRun++
			}
		}
		if notRun == 0 || notRun == len(results) {
			t.Errorf("%d of %d were not run", notRun, len(results))
		}
		wantNoQueues(t, client)
	})
}

// A service that never answers costs each check its timeout, no more.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client := newClient(server, func(http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
		})
		began := time.Now()
		c := testConfig(client, "^tags/")
		c.Timeout = 5 * time.Second
		results, err := Run(t.Context(), c)
		if err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("it took %v, error %v", time.Since(began), err)
		}
		for _, r := range results {
			if r.Err == nil || !strings.Contains(r.Err.Error(), "not over after 5s") {
				t.Errorf("%s: %v", r.ID, r.Err)
			}
		}
	})
}

// The emulator of this module passes every check; virtual time makes the slow
// ones quick. Each check is reported once, and leaves nothing.
func TestEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client, told := newClient(server, nil), 0
		c := testConfig(client, "")
		c.Slow, c.Done = true, func(Result) { told++ }
		results, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(All()); len(results) != n || told != n {
			t.Errorf("%d results, %d told, for %d checks", len(results), told, n)
		}
		for _, r := range results {
			if r.Err != nil || r.Leftover != nil {
				t.Errorf("%s: %s\n\t%v, %v", r.ID, r.Must, r.Err, r.Leftover)
			}
		}
		wantNoQueues(t, client)
	})
}

func wantNoQueues(t *testing.T, client *awssqs.Client) {
	t.Helper()
	left, err := client.ListQueues(t.Context(), nil)
	if err != nil || len(left.QueueUrls) > 0 {
		t.Errorf("left: %v, error %v", left.QueueUrls, err)
	}
}

// newClient returns a client of the server whose calls go through wrap.
func newClient(server *sqs.Server, wrap func(http.RoundTripper) http.RoundTripper) *awssqs.Client {
	client := server.HTTPClient()
	if wrap != nil {
		client.Transport = wrap(client.Transport)
	}
	return server.Client(func(o *awssqs.Options) { o.HTTPClient, o.Retryer = client, aws.NopRetryer{} })
}
