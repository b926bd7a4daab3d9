package checks_test

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
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs/conformance/checks"
)

func TestListIsComplete(t *testing.T) {
	id := regexp.MustCompile(`^[a-z-]+/[A-Za-z0-9-]+$`)
	known := map[string]bool{}
	documented := 0
	for _, c := range checks.All() {
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
		if !c.Undocumented {
			documented++
		}
	}
	if documented < 77 {
		t.Errorf("%d documented checks, want 77 at least", documented)
	}
}

func TestConfig(t *testing.T) {
	client := awssqs.New(awssqs.Options{})
	for says, c := range map[string]checks.Config{
		"Config.Client is nil":      {},
		`Config.Prefix is "a b"`:    {Client: client, Prefix: "a b"},
		"Config.Parallel is -1":     {Client: client, Parallel: -1},
		"Config.Timeout is -1s":     {Client: client, Timeout: -time.Second},
		"Config.Patience is -1s":    {Client: client, Patience: -time.Second},
		"Config.Settle is -1s":      {Client: client, Settle: -time.Second},
		"want 1 to 40 letters, dig": {Client: client, Prefix: strings.Repeat("x", 41)},
	} {
		if _, err := checks.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q in it", err, says)
		}
	}
	chosen := checks.Config{Only: regexp.MustCompile("^deduplication/")}.Chosen()
	slow := checks.Config{Only: regexp.MustCompile("^deduplication/"), Slow: true}.Chosen()
	if len(slow) != len(chosen)+1 || slow[len(slow)-1].ID != "deduplication/window" {
		t.Errorf("chosen %d checks, with slow ones %d", len(chosen), len(slow))
	}
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
		_, err := checks.Run(t.Context(), checks.Config{Client: client, Parallel: 2, Only: regexp.MustCompile("^(names|tags)/")})
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
		results, err := checks.Run(ctx, checks.Config{Client: client, Parallel: 10, Slow: true})
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
		results, err := checks.Run(t.Context(), checks.Config{Client: client, Timeout: 5 * time.Second, Only: regexp.MustCompile("^tags/")})
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
		results, err := checks.Run(t.Context(), checks.Config{Client: client, Slow: true, Parallel: 1000, Done: func(checks.Result) { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(checks.All()); len(results) != n || told != n {
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of the server whose calls go through wrap.
func newClient(server *sqs.Server, wrap func(http.RoundTripper) http.RoundTripper) *awssqs.Client {
	client := server.HTTPClient()
	if wrap != nil {
		client.Transport = wrap(client.Transport)
	}
	return server.Client(func(o *awssqs.Options) { o.HTTPClient, o.Retryer = client, aws.NopRetryer{} })
}
