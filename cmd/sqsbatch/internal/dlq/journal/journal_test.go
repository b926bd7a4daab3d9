package journal_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var header = journal.Header{Queue: "arn:aws:sqs:us-east-1:1:dead", Verb: "replay", Started: time.Unix(1000, 0).UTC(), Settings: []byte(`{"limit":7}`)}

func create(t *testing.T) (*journal.Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "dead.journal")
	j, err := journal.Create(path, header)
	if err != nil {
		t.Fatal(err)
	}
	return j, path
}

func entries(ids ...string) (list []journal.Entry) {
	for _, id := range ids {
		list = append(list, journal.Entry{ID: id, Handle: "h-" + id})
	}
	return list
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// steps are those of a run that is killed.
func steps(t *testing.T, j *journal.Journal) {
	t.Helper()
	must(t, j.Sending("orders", entries("deleted", "sent", "failed", "unsure")),
		j.Sent([]string{"deleted", "sent"}, []string{"sent"}), j.Failed([]string{"failed"}), j.Deleted([]string{"deleted"}),
		j.Close())
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err, f.Close())
}

// A run that goes on knows what was done, also if it is killed in the middle of a line, and
// again.
func TestResume_KnowsWhatWasDone(t *testing.T) {
	for _, torn := range []string{"", `{"op":"del`, strings.Repeat("x", 200_000)} {
		j, path := create(t)
		steps(t, j)
		var first time.Time // a FIFO queue forgets a deduplication id five minutes after the first try
		for range 2 {
			appendTo(t, path, torn)
			var deleted []string
			j, h, state, err := journal.Resume(path, func(id string) { deleted = append(deleted, id) })
			must(t, err)
			if h.Verb != "replay" || string(h.Settings) != `{"limit":7}` || j.Path() != path {
				t.Errorf("%+v", h)
			}
			if ids := slices.Sorted(maps.Keys(state.Pending)); !slices.Equal(ids, []string{"sent", "unsure"}) || state.Sent != 2 ||
				!slices.Equal(state.Twice, []string{"sent"}) || !slices.Equal(deleted, []string{"deleted"}) {
				t.Errorf("%v, %+v, deleted %v", ids, state, deleted)
			}
			if sent, unsure := state.Pending["sent"], state.Pending["unsure"]; !sent.Sent || unsure.Sent || unsure.Handle != "h-unsure" || unsure.At.IsZero() {
				t.Errorf("%+v, %+v", sent, unsure)
			}
			if first.IsZero() {
				first = state.Pending["unsure"].At
			}
			if !state.Pending["unsure"].At.Equal(first) {
				t.Errorf("first tried at %s, then at %s", first, state.Pending["unsure"].At)
			}
			must(t, j.Sending("orders", entries("unsure")), j.Close())
		}
	}
}

func TestCreate_RefusesAnUnfinishedRun(t *testing.T) {
	j, path := create(t)
	must(t, j.Close())
	_, err := journal.Create(path, header)
	if unfinished, is := errors.AsType[*journal.UnfinishedError](err); !is || unfinished.Path != path || unfinished.Header.Verb != "replay" {
		t.Errorf("%v", err)
	}
	j, _, _, err = journal.Resume(path, func(string) {})
	must(t, err, j.End())
	if _, _, _, err := journal.Resume(path, func(string) {}); !errors.Is(err, journal.ErrNothing) {
		t.Errorf("resumed after its end: %v", err)
	}
	j, err = journal.Create(path, header)
	must(t, err, j.Close(), journal.Discard(path))
	j, err = journal.Create(path, header)
	must(t, err, j.End())
}

func TestJournal_IsLocked(t *testing.T) {
	j, path := create(t)
	_, create := journal.Create(path, header)
	_, _, _, resume := journal.Resume(path, func(string) {})
	for _, err := range []error{create, resume, journal.Discard(path)} {
		if !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
	}
	must(t, j.Close())
}

// It changes no file that is not a journal. A header that was not written to its end is one of a
// run that did nothing.
func TestJournal_FilesThatItDidNotWrite(t *testing.T) {
	const other = "not a journal"
	for text, want := range map[string]string{
		"a line\n": other, "no line": other, `{"Body":"x"}` + "\n": other, "\x1f\x8b": other, `{"v":1,"verb":""}` + "\n": other,
		`{"v":2,"verb":"replay"}` + "\n":               "version 2, must be 1",
		`{"v":1,"verb":"replay"}` + "\n{\"op\":\n{}\n": "line 2",
		"": "", `{"`: "", `{"v":1,"queue":"arn`: "",
	} {
		path := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, _, resume := journal.Resume(path, func(string) {})
		if want == "" {
			if !errors.Is(resume, journal.ErrNothing) {
				t.Errorf("%q: %v", text, resume)
			}
			j, err := journal.Create(path, header)
			must(t, err, j.End())
			continue
		}
		_, create := journal.Create(path, header)
		for _, err := range []error{create, resume} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
		if err := journal.Discard(path); (err != nil) != (want == other) {
			t.Errorf("%q is discarded: %v", text, err)
		}
	}
	if _, err := journal.Create(os.DevNull, header); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("a device: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, _, _, err := journal.Resume(missing, func(string) {}); !errors.Is(err, journal.ErrNothing) || journal.Discard(missing) != nil {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("made: %v", err)
	}
}
