package local_test

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// TestHosts: the SQS endpoint is asked by loopback and by the names that were allowed.
func TestHosts(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	var asking sync.WaitGroup
	out := &cancelOn{what: "endpoint "}
	out.f = func() {
		endpoint := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.text.String())
		asking.Go(func() { // the view waits for its output
			defer func() { interrupts <- os.Interrupt }()
			transport := &http.Transport{DisableKeepAlives: true}
			for host, want := range map[string]int{"": 200, "host.docker.internal": 200, "evil.example": 403} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint+"/?Action=ListQueues", http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				r.Host = host
				answer, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				if answer.StatusCode != want {
					t.Errorf("Host %q: %d, want %d", host, answer.StatusCode, want)
				}
			}
		})
	}
	err := runWith(t.Context(), []string{"testdata/foreign", "--function", "Foreign", "--no-samples", "--allow-host", "host.docker.internal", "--timeout", "1m"},
		cli.IO{Stdout: out, Stderr: &bytes.Buffer{}, Interrupts: interrupts}, build.Go{})
	asking.Wait()
	if err != nil {
		t.Fatal(err)
	}
}
