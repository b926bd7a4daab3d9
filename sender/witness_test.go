package sender_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// witness is an HTTP client that notes every SendMessageBatch and its answer. So the judges
// of a history rely neither on what the sender says nor on the server's summary of a call.
type witness struct {
	awssqs.HTTPClient

	mu       sync.Mutex
	tries    map[string][]*try // by body
	inFlight int
	most     int // calls in flight
	groups   map[string]int
	together string // a group that had two messages in flight
	latest   time.Time
}

// try is a message in a call.
type try struct {
	began, ended time.Time
	// unsure is set if the queue may have the message, although SQS has not confirmed it: no
	// answer came, or failed is set.
	unsure    bool
	failed    bool // the answer was an error of the service, for the call or for the message
	refused   bool // by SQS, because of the message itself
	confirmed bool
}

func newWitness(to awssqs.HTTPClient) *witness {
	return &witness{HTTPClient: to, tries: map[string][]*try{}, groups: map[string]int{}}
}

// asked and told are the request and the answer, as far as the witness needs them.
type asked struct {
	Entries []struct {
		ID    string          `json:"Id"`
		Body  json.RawMessage `json:"MessageBody"` // decoding large ones would take half of the test's time
		Group string          `json:"MessageGroupId"`
	}
}

type told struct {
	Successful []struct {
		ID string `json:"Id"`
	}
	Failed []struct {
		ID          string `json:"Id"`
		SenderFault bool
	}
	failed bool // as a whole, by the service
}

func (w *witness) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".SendMessageBatch") || r.Context().Err() != nil {
		return w.HTTPClient.Do(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	var in asked
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	noted := w.begin(in)
	answer, err := w.HTTPClient.Do(r)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			w.end(in, noted, &told{}) // there was no connection, so the queue does not have them
		} else {
			w.end(in, noted, nil)
		}
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		w.end(in, noted, nil)
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	out := &told{failed: answer.StatusCode >= 500}
	if answer.StatusCode == http.StatusOK {
		_ = json.Unmarshal(body, out) // if it cannot be read, it confirms nothing
	}
	w.end(in, noted, out)
	return answer, nil
}

func (w *witness) begin(in asked) (noted map[string]*try) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	w.latest = time.Now()
	noted = map[string]*try{}
	for _, e := range in.Entries {
		t := &try{began: w.latest, unsure: true}
		noted[e.ID] = t
		body := strings.Trim(string(e.Body), `"`) // nothing in it is escaped
		w.tries[body] = append(w.tries[body], t)
		if w.groups[e.Group]++; w.groups[e.Group] > 1 && e.Group != "" {
			w.together = e.Group
		}
	}
	return noted
}

// end notes an answer; nil for none.
func (w *witness) end(in asked, noted map[string]*try, out *told) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight--
	for _, e := range in.Entries {
		w.groups[e.Group]--
		noted[e.ID].ended = time.Now()
		noted[e.ID].failed = out != nil && out.failed
		noted[e.ID].unsure = out == nil || out.failed
	}
	if out == nil {
		return
	}
	for _, e := range out.Successful {
		noted[e.ID].confirmed = true
	}
	for _, e := range out.Failed {
		t := noted[e.ID]
		t.refused, t.failed, t.unsure = e.SenderFault, !e.SenderFault, !e.SenderFault
	}
}

// of returns the tries of a message.
func (w *witness) of(body string) []*try {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries[body]
}

// calls returns how many are in flight.
func (w *witness) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight
}
