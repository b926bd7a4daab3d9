package console

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/test/simulate"
)

// played returns a console with what w has recorded so far.
func (w *world) played() *Console {
	w.t.Helper()
	text, err := os.ReadFile(w.c.record.file.Name())
	w.must(err)
	entries, err := readRecording(strings.NewReader(string(text)))
	w.must(err)
	c := newConsole()
	c.open(entries)
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// playsBack fails unless the recording says the same as the model: at once, and after steps in all directions.
func (w *world) playsBack(seed uint64) {
	w.t.Helper()
	c := w.played()
	at := c.play.now()
	want, n := w.c.model.text(at), len(c.play.entries)
	for _, to := range []int{n, 1, n / 2, n / 3, n - 1, n} {
		c.seek(to)
	}
	if got := c.model.text(at); got != want {
		w.t.Fatalf("seed %d: what was recorded says\n%s\nand what happened is\n%s", seed, got, want)
	}
}

// text has all that a model knows of messages and invocations.
func (m *model) text(at time.Time) string {
	var b strings.Builder
	for _, x := range bySent(slices.Collect(maps.Values(m.messages))) {
		fmt.Fprintln(&b, x.number, x.id, x.queue, x.body, x.group, x.now(at), x.due.UnixNano(), x.received, x.receivedHere, x.deadOf, x.movedTo, x.attributes, x.trace, m.why(x, redrive{}, at).Text)
		for _, s := range x.steps {
			fmt.Fprintln(&b, "\t", s.at.UnixNano(), s.kind, s.queue, s.count, s.hidden, s.to)
		}
		for _, a := range x.attempts {
			fmt.Fprintln(&b, "\t", a.at.UnixNano(), a.Invocation, a.Process, a.Attempt, a.Outcome, a.Reason, a.Duration, a.Allowed, a.VisibleIn)
		}
	}
	for _, i := range m.batches {
		fmt.Fprintln(&b, i.number, i.began.UnixNano(), i.coldStart, i.records, i.lines, i.at.UnixNano())
	}
	fmt.Fprintln(&b, m.running, len(m.warnings), len(m.recent))
	return b.String()
}

func TestPlay_ShowsEachMomentOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.c.Serve(Run{Server: w.server, About: About{Function: "Orders", Lambda: true, Timeout: 10 * time.Second, Settings: []Setting{{"Batch size", "10"}}}})
		id := w.send("orders", "one", func(in *awssqs.SendMessageInput) {
			in.MessageAttributes = map[string]types.MessageAttributeValue{"source": {DataType: aws.String("String"), StringValue: aws.String("shop")}}
		})
		time.Sleep(time.Second)
		w.receive("orders")
		w.c.Event(track.Started{Invocation: 1, RequestID: "r", MessageIDs: []string{id}, ColdStart: true})
		time.Sleep(700 * time.Millisecond)
		w.c.Event(track.Record{Invocation: 1, MessageID: id, Attempt: 1, Outcome: track.Retry, Reason: "busy", Duration: 500 * time.Millisecond, Allowed: 9 * time.Second, VisibleIn: -1})
		w.c.Event(track.Log{Invocation: 1, Text: "about " + id})
		w.c.Event(track.Warning{Text: "careful"})
		w.c.Event(track.Ended{Invocation: 1, RequestID: "r", Records: 1, Back: 1, Duration: 700 * time.Millisecond, Timeout: 10 * time.Second, ColdStart: true})
		w.c.Event(track.Process{Change: track.Change{Process: 1, PID: 11}})
		w.playsBack(0)

		p := w.played()
		play := &world{t, p, nil, nil}
		do := func(path string, form url.Values, want string) {
			t.Helper()
			if form != nil {
				form.Set("back", path)
				if got := play.do("/play", form); got.Code != http.StatusSeeOther || got.Header().Get("Location") != path {
					t.Errorf("%v: %d %s", form, got.Code, got.Body)
				}
			}
			if page := play.do(path, nil).Body.String(); !strings.Contains(page, want) {
				t.Errorf("%s has no %q after %v:\n%s", path, want, form, page)
			}
		}
		button := func(do string, more ...string) url.Values {
			form := url.Values{"do": {do}}
			for i := 0; i < len(more); i += 2 {
				form.Set(more[i], more[i+1])
			}
			return form
		}
		do("/", nil, "Function Orders")
		do("/", nil, "Batch size")
		do("/messages/"+id, nil, "Attempt 1 ended as retry: busy")
		do("/batches", nil, "retry after 500ms: busy")
		do("/messages/"+id, button("back", "message", id), "Attempt 1 ended as retry: busy") // just after that
		do("/messages/"+id, button("back", "message", id), "Invocation 1 has it since ")     // it has begun
		do("/messages/"+id, button("back", "message", id), "A consumer has it at attempt 1") // the receive
		do("/messages/"+id, button("back", "message", id), "It can be received")
		do("/messages/"+id, button("back", "message", id), "It can be received") // there is no event before
		do("/queues/orders", nil, "1 visible, 0 in flight")
		do("/messages/"+id, button("first"), "is not sent yet: its next event is ")
		do("/messages/"+id, button("next", "message", id), "It can be received")
		do("/", button("go", "to", "2"), fmt.Sprintf("Event 2 of %d", len(p.play.entries)))
		do("/", nil, "is created, deleted")
		do("/", button("go", "to", "9"), ": sent, queue orders, message <a href=")
		do("/", button("go", "to", "2"), "a queue is")
		do("/", button("play", "speed", "10"), "Pause")
		time.Sleep(250 * time.Millisecond)
		do("/", button("pause"), fmt.Sprintf("Event 4 of %d", len(p.play.entries)))
		time.Sleep(time.Second)
		do("/", nil, fmt.Sprintf("Event 4 of %d", len(p.play.entries)))
		do("/", button("play", "speed", "1000"), "Pause")
		time.Sleep(time.Second)
		do("/", nil, fmt.Sprintf("Event %d of %[1]d", len(p.play.entries)))
		for _, form := range []url.Values{button("go", "to", "0"), button("go", "to", "99"), button("play", "speed", "0"), button("jump")} {
			if got := play.do("/play", form); got.Code != http.StatusBadRequest {
				t.Errorf("%v: %d", form, got.Code)
			}
		}
		for _, path := range []string{"/queues/orders/send", "/queues/orders/purge", "/queues/dead/replay", "/faults", "/kill"} {
			if got := play.do(path, url.Values{}); got.Code != http.StatusNotFound {
				t.Errorf("POST %s on a recording: %d", path, got.Code)
			}
		}
		if page := play.do("/queues/orders", nil).Body.String(); strings.Contains(page, "Purge") || strings.Contains(page, ">Send<") {
			t.Errorf("a recording offers what only a run can do:\n%s", page)
		}
		if page := w.do("/", nil).Body.String(); strings.Contains(page, "/play") {
			t.Error("a run offers what only a recording can do")
		}
	})
}

// A history of the simulator can be looked at: what it has of each message is on the pages.
func TestPlay_ShowsAHistoryOfTheSimulator(t *testing.T) {
	for seed := range uint64(6) {
		h, err := simulate.RunInBubble(t, simulate.Generate(seed), simulate.Mutant{})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := h.Record(&text, simulate.Violation{Invariant: "an invariant", Text: "is violated", At: h.Began}); err != nil {
			t.Fatal(err)
		}
		entries, err := readRecording(&text)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		c := newConsole()
		c.open(entries)
		w := &world{t, c, nil, nil}
		w.shows("/", fmt.Sprint("seed ", seed))
		w.shows("/", "an invariant: is violated")
		results := 0
		for _, i := range h.Invocations {
			results += len(i.Results)
		}
		for _, p := range h.Processes {
			results += len(p.Results)
		}
		shown := 0
		for id, x := range c.model.messages {
			w.shows("/messages/"+url.PathEscape(id), "What happened")
			shown += len(x.attempts)
		}
		if shown == 0 || shown < results {
			t.Errorf("seed %d: the history has %d outcomes, and the pages have %d", seed, results, shown)
		}
		if dead := len(h.Dead); dead > 0 {
			w.shows("/dead-letters", fmt.Sprintf(" of %s", h.Plan.Queues[0].Name))
		}
		_ = c.Close()
	}
}

// shows fails unless a page has a text.
func (w *world) shows(path, want string) {
	w.t.Helper()
	if got := w.do(path, nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
		w.t.Errorf("%s has no %q: %d\n%s", path, want, got.Code, got.Body)
	}
}

func TestReadRecording_SaysWhatIsWrong(t *testing.T) {
	const good = `{"at":"2026-01-02T03:04:05Z","kind":"warning","value":{"Text":"w"}}` + "\n"
	for text, want := range map[string]string{
		"":                         "it is empty",
		"\n\n":                     "it is empty",
		"nonsense\n":               "line 1 is not of a recording",
		good + "nonsense\n" + good: "line 2 is not of a recording",
		good + `{"kind":"warning"}` + "\n" + good:                                         `"at" is missing`,
		good + `{"at":"1969-01-02T03:04:05Z","kind":"warning"}` + "\n" + good:             `before 1970`,
		good + `{"at":"2026-01-02T03:04:05Z","kind":"wa\nrning"}` + "\n" + good:           `"kind" is "wa\nrning"`,
		good + `{"at":"2026-01-02T03:04:05Z","kind":"message","value":[1]}` + "\n" + good: "line 2",
		strings.Repeat("x", maxEntry+1):                                                   "line 1: bufio.Scanner: token too long",
	} {
		if list, err := readRecording(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200q gives %d entries and the error %v, which does not have %q", text, len(list), err, want)
		}
	}
	for _, text := range []string{good, good + "\n", good + `{"at":"2026-01-02T03:04`} {
		if list, err := readRecording(strings.NewReader(text)); err != nil || len(list) != 1 {
			t.Errorf("%q gives %d entries and the error %v", text, len(list), err)
		}
	}
}

func TestRecorder_SaysThatItIsNotWhole(t *testing.T) {
	if _, err := newRecorder(filepath.Join(t.TempDir(), "none", "run.jsonl")); err == nil || !strings.HasPrefix(err.Error(), "--record: ") {
		t.Errorf("a file that cannot be created gives %v", err)
	}
	r, err := newRecorder(filepath.Join(t.TempDir(), "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.file.Close()
	r.add(entry{time.Now(), track.Warning{}})
	if err := r.close(); err == nil || !strings.Contains(err.Error(), "not whole") {
		t.Errorf("a write that fails gives %v", err)
	}
}

// A recording may come from someone else: whatever it has, its pages are answered.
func FuzzPlay(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","kind":"run","value":{"Function":"f","Lambda":true}}
{"at":"2026-01-02T03:04:05Z","kind":"queues","value":[{"name":"q","attributes":{"RedrivePolicy":"{\"maxReceiveCount\":1}"}}]}
{"at":"2026-01-02T03:04:05Z","kind":"message","value":{"type":"sent","queue":"q","messageId":"m","body":"b","visibleInMs":1e9,"attributes":{"a":{"DataType":"Binary"}}}}
{"at":"2026-01-02T03:04:06Z","kind":"message","value":{"type":"redriven","queue":"q","messageId":"m","deadLetterQueue":"q"}}
{"at":"2026-01-02T03:04:06Z","kind":"call","value":{"operation":"ReceiveMessage","queue":"q"}}
{"at":"2026-01-02T03:04:06Z","kind":"started","value":{"Invocation":1,"MessageIDs":["m"]}}
{"at":"2026-01-02T03:04:06Z","kind":"record","value":{"messageId":"m","invocation":1,"process":1,"durationMs":1e300,"allowedMs":-5}}
{"at":"2026-01-02T03:04:06Z","kind":"ended","value":{"invocation":1,"durationMs":3}}
{"at":"2026-01-02T03:04:06Z","kind":"process","value":{"process":1,"pid":2}}
{"at":"2026-01-02T03:04:06Z","kind":"message","value":{"type":"moved","queue":"q","messageId":"m","movedTo":"","newMessageId":"m"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := readRecording(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		c := newConsole()
		c.open(entries)
		defer c.Close()
		w := &world{t, c, nil, nil}
		paths := []string{"/", "/batches", "/batches?scale=timeout", "/slots", "/dead-letters"}
		for id := range c.model.messages {
			paths = append(paths, "/messages/"+url.PathEscape(id))
		}
		for name := range c.model.queues {
			paths = append(paths, "/queues/"+url.PathEscape(name))
		}
		for _, path := range paths[:min(len(paths), 20)] {
			if got := w.do(path, nil); got.Code >= 500 {
				t.Errorf("%s: %d\n%s", path, got.Code, got.Body)
			}
		}
	})
}
