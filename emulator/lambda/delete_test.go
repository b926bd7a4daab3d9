package lambda_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// failEntry makes a batch call fail for the entries that pick says, each with
// its code; the others take effect.
func (w *world) failEntry(call []byte, code string, sendersFault bool, pick func(position int) bool) (*http.Response, error) {
	var in struct {
		QueueUrl string
		Entries  []map[string]any
	}
	if err := json.Unmarshal(call, &in); err != nil {
		return nil, err
	}
	var kept, failed []map[string]any
	for i, e := range in.Entries {
		if pick(i) {
			failed = append(failed, map[string]any{"Id": e["Id"], "Code": code, "Message": "try again", "SenderFault": sendersFault})
		} else {
			kept = append(kept, e)
		}
	}
	out := map[string]any{"Failed": failed, "Successful": []any{}}
	if len(kept) > 0 {
		in.Entries = kept
		body, _ := json.Marshal(in)
		r, err := http.NewRequest(http.MethodPost, w.server.URL(), strings.NewReader(string(body)))
		if err != nil {
			return nil, err
		}
		r.Header.Set("X-Amz-Target", "AmazonSQS.DeleteMessageBatch")
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		resp, err := w.server.HTTPClient().Do(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var answer struct{ Successful []any }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return nil, err
		}
		out["Successful"] = answer.Successful
	}
	body, _ := json.Marshal(out)
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(string(body))),
	}, nil
}

func TestDeleteFailures(t *testing.T) {
	lost := errors.New("connection reset")
	cases := []struct {
		name    string
		fail    func(w *world, call int, body []byte) (*http.Response, error)
		calls   int
		deleted int    // of ten
		err     string // of the verdicts on the rest, and told
	}{
		{"none", func(*world, int, []byte) (*http.Response, error) { return nil, nil }, 1, 10, ""},
		{"entries, once", func(w *world, call int, body []byte) (*http.Response, error) {
			if call > 1 {
				return nil, nil
			}
			return w.failEntry(body, "InternalError", false, func(i int) bool { return i%2 == 0 })
		}, 2, 10, ""},
		{"the call, twice", func(_ *world, call int, _ []byte) (*http.Response, error) {
			if call > 2 {
				return nil, nil
			}
			return nil, lost
		}, 3, 10, ""},
		{"an entry, always", func(w *world, _ int, body []byte) (*http.Response, error) {
			return w.failEntry(body, "InternalError", false, func(i int) bool { return i == 0 })
		}, 5, 9, "InternalError: try again"},
		{"an entry for good", func(w *world, _ int, body []byte) (*http.Response, error) {
			return w.failEntry(body, "ReceiptHandleIsInvalid", true, func(i int) bool { return i == 3 })
		}, 1, 9, "ReceiptHandleIsInvalid: try again"},
		{"the call, always", func(*world, int, []byte) (*http.Response, error) { return nil, lost }, 5, 0, "connection reset"},
	}
	for _, c := range cases {
		virtualRun(t, c.name, func(w *world) {
			url := w.queue("orders", 30)
			calls := 0
			w.intercept = func(operation string, body []byte) (*http.Response, error) {
				if operation != "DeleteMessageBatch" {
					return nil, nil
				}
				calls++
				return c.fail(w, calls, body)
			}
			w.send(url, numbered(10)...)
			w.runUntil(20*time.Second, lambda.Mapping{QueueURL: url})
			if calls != c.calls || len(w.deleted) != c.deleted {
				w.Errorf("%d calls deleted %d, want %d and %d", calls, len(w.deleted), c.calls, c.deleted)
			}
			gone := 0
			for _, v := range w.ended[0].Verdicts {
				switch {
				case v.Deleted && v.Err == nil:
					gone++
				case v.Deleted || v.Err == nil || !strings.Contains(v.Err.Error(), c.err):
					w.Errorf("verdict %+v, want the error %q", v, c.err)
				}
			}
			if gone != c.deleted {
				w.Errorf("%d verdicts say deleted, want %d", gone, c.deleted)
			}
			switch told := len(w.pollErrors); {
			case (c.err != "") != (told == 1):
				w.Errorf("told %v", w.pollErrors)
			case told == 1 && (w.pollErrors[0].Operation != "DeleteMessageBatch" || w.pollErrors[0].Messages != 10-c.deleted):
				w.Errorf("told %v", w.pollErrors[0])
			}
		})
	}
}
