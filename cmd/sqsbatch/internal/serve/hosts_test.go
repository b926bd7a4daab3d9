package serve_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// TestHosts: who may ask by which name.
func TestHosts(t *testing.T) {
	p := begin(t, "--addr", "127.0.0.1:0", "--allow-host", "host.docker.internal", "--allow-host", "sqs")
	p.client() // sets the variables that were printed
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "host.docker.internal:1": 200, "sqs": 200, "evil.example:1": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, os.Getenv("AWS_ENDPOINT_URL_SQS")+"/?Action=ListQueues", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != want || want == 403 && !strings.Contains(string(text), "evil.example") {
			t.Errorf("Host %q: %d, want %d: %s %v", host, answer.StatusCode, want, text, err)
		}
	}
}

func TestHostsMustBeNames(t *testing.T) {
	_, _, err := once(t, "--allow-host", "http://sqs:9324")
	var usage *cli.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "without scheme and port") {
		t.Errorf("error %v", err)
	}
}
