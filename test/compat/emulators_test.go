package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// The sequences find a server that is wrong, and nothing about a second emulator/sqs.
func TestSequences_FindWhatIsWrong(t *testing.T) {
	before := emulatorOptions
	defer func() { emulatorOptions = before }()
	emulatorOptions.seed, emulatorOptions.sequences = 1, 25
	for name, tc := range map[string]struct{ operation, old, new, found string }{
		"nothing":                {},
		"a delete has no effect": {"DeleteMessage", `"ReceiptHandle":"`, `"ReceiptHandle":"AAAA`, "DeleteMessage of a standard queue, a message in flight: ReceiptHandleIsInvalid, not success"},
		"a release has no effect": {"ChangeMessageVisibility", `"VisibilityTimeout":0`, `"VisibilityTimeout":600`,
			"ChangeMessageVisibility of a standard queue, a message in flight: another effect"},
		"one FIFO group": {"SendMessage", `"MessageGroupId":"h"`, `"MessageGroupId":"g"`, "another answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := sqs.New(sqs.Config{})
				defer server.Close()
				client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					if body, err := io.ReadAll(r.Body); err != nil {
						return nil, err
					} else if r.Header.Get("X-Amz-Target") == "AmazonSQS."+tc.operation {
						body = bytes.Replace(body, []byte(tc.old), []byte(tc.new), 1)
						r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
					} else {
						r.Body = io.NopCloser(bytes.NewReader(body))
					}
					return server.HTTPClient().Transport.RoundTrip(r)
				})}
				err := must.Run(func() { (&differences{}).compare(t.Context(), "other", client, server.URL()) })
				if tc.found == "" && err != nil {
					t.Error(err)
				} else if tc.found != "" && (err == nil || !strings.Contains(err.Error(), tc.found)) {
					t.Errorf("found %v, want %q", err, tc.found)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The page shows the known differences, and says for each call what AWS does.
func TestPage_HasTheDifferences(t *testing.T) {
	root := filepath.Join("..", "..")
	d, err := readDifferences(root)
	text, errPage := os.ReadFile(filepath.Join(root, differencesPage))
	if err := errors.Join(err, errPage); err != nil {
		t.Fatal(err)
	}
	if d.show(string(text)) != string(text) {
		t.Errorf("%s does not show %s: go run ./test/compat emulators -update", differencesPage, differencesFile)
	}
	for _, c := range d.Calls {
		if c.AWS == "" || c.AWS == unclassified {
			t.Errorf("%s: %s: %s: say in %s who does as AWS", c.Server, c.Call, c.Differs, differencesFile)
		}
	}
}
