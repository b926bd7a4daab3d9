// Package journal is the file in which `sqsbatch dlq` notes each step of a replay, so that
// a run that was killed can go on: what was about to be sent, what was sent, and what was
// deleted.
//
//	j, err := journal.Create(path, header)
//	err = j.Sending("orders", entries)
//	…
//	err = j.Sent(ids, nil)
//	…
//	err = j.Deleted(ids)
//	err = j.End()
//
// Each step is one write of whole lines, so a process that is killed loses nothing that it
// noted. Lines are flushed to the disk once a second: after a power failure, the last ones may be
// missing.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// version changes if the meaning of a line changes.
const version = 1

// ErrLocked is returned when another process has the journal open.
var ErrLocked = errors.New("another sqsbatch dlq works on this queue")

// ErrNothing is returned by Resume when there is no run to resume.
var ErrNothing = errors.New("there is no interrupted run to resume")

// An UnfinishedError is returned by Create when the file has a run that did not end.
type UnfinishedError struct {
	Path   string
	Header Header
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("a run of %s that began at %s did not end (journal %s)", e.Header.Verb, e.Header.Started.Local().Format(time.DateTime), e.Path)
}

// A Header says what the run does.
type Header struct {
	Version int       `json:"v"`
	Queue   string    `json:"queue"` // ARN
	Verb    string    `json:"verb"`
	Started time.Time `json:"started"`
	// Settings are those of the verb, so that a resumed run does the same.
	Settings json.RawMessage `json:"settings"`
}

// An Entry is a message that is about to be sent.
type Entry struct {
	ID     string `json:"id"` // in the dead-letter queue
	Handle string `json:"handle,omitempty"`
}

// line is one line of the file. Op is one of the constants below, or "" for the header.
type line struct {
	Op      string    `json:"op"`
	At      time.Time `json:"at,omitzero"`
	To      string    `json:"to,omitempty"`
	Entries []Entry   `json:"entries,omitempty"`
	IDs     []string  `json:"ids,omitempty"`
}

const (
	opSending = "sending" // Entries are about to be sent to To
	opSent    = "sent"
	opTwice   = "twice" // sent, after a try that may have sent it: perhaps twice
	opFailed  = "failed"
	opDeleted = "deleted"
	opResumed = "resumed"
	opEnd     = "end"
)

// A Journal is open for one run. Its methods may be called from several goroutines.
type Journal struct {
	path string
	mu   sync.Mutex
	f    *os.File
	size int64 // of the whole lines
	// synced is when the lines were last flushed to the disk.
	synced time.Time
	torn   error // a line could not be written, and its beginning not removed
}

// Create begins a journal at path, in place of one of a run that ended. It returns an
// [*UnfinishedError] if the file has a run that did not end, and [ErrLocked] if another
// process writes it.
func Create(path string, h Header) (*Journal, error) {
	h.Version = version
	j, old, s, err := open(path, func(string) {})
	if err == nil && s != nil {
		err = &UnfinishedError{path, old}
	}
	return j.begin(0, h, err)
}

// Resume opens the journal of a run that did not end, and calls deleted with the id of each
// message that was deleted. It returns [ErrNothing] if there is no such run, and
// [ErrLocked] if another process writes the file.
func Resume(path string, deleted func(id string)) (j *Journal, h Header, state *State, err error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, h, nil, ErrNothing
	}
	j, h, state, err = open(path, deleted)
	if err == nil && state == nil {
		err = ErrNothing
	}
	if err == nil { // the last line may not be written to its end
		j, err = j.begin(j.size, line{Op: opResumed, At: time.Now().UTC()}, nil)
		return j, h, state, err
	}
	j, err = j.begin(0, nil, err)
	return j, h, state, err
}

// Discard forgets a run that did not end. It refuses a file that is no journal.
func Discard(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	j, _, _, err := open(path, func(string) {})
	if j == nil {
		return err
	}
	defer j.f.Close()
	if errors.Is(err, errNoJournal) {
		return err
	}
	return j.f.Truncate(0)
}

// open opens a journal and reads it. s is nil if there is nothing to resume. j is open also if it
// cannot be read.
func open(path string, deleted func(id string)) (j *Journal, h Header, s *State, err error) {
	if j, err = lockedFile(path); err != nil {
		return nil, h, nil, err
	}
	if h, s, err = j.read(deleted); err != nil {
		err = fmt.Errorf("journal %s: %w", path, err)
	}
	return j, h, s, err
}

func lockedFile(path string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// A link could make it overwrite another file of the user.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("journal %s: %w: it is a link or a device", path, errNoJournal)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := ownOnly(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w (journal %s is locked: %w)", ErrLocked, path, err)
	}
	return &Journal{path: path, f: f}, nil
}

// begin removes what is behind the first size bytes, and writes a line there. If there was an error
// before or is one now, it closes the file and returns the error.
func (j *Journal) begin(size int64, v any, err error) (*Journal, error) {
	if err == nil {
		err = j.cut(size)
	}
	if err == nil {
		err = j.write(v)
	}
	if err != nil && j != nil {
		_ = j.f.Close()
		j = nil
	}
	return j, err
}

// cut removes what is behind the first size bytes, and writes on from there.
func (j *Journal) cut(size int64) error {
	j.size = size
	_, err := j.f.Seek(size, io.SeekStart)
	return errors.Join(err, j.f.Truncate(size))
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Sending notes what is about to be sent to a queue.
func (j *Journal) Sending(to string, entries []Entry) error {
	return j.write(line{Op: opSending, At: time.Now().UTC(), To: to, Entries: entries})
}

// Sent notes what SQS has confirmed; twice are those of them that may have been sent twice.
func (j *Journal) Sent(ids, twice []string) error {
	if len(twice) > 0 {
		if err := j.write(line{Op: opTwice, IDs: twice}); err != nil {
			return err
		}
	}
	return j.ids(opSent, ids)
}

// Failed notes what SQS has refused to take.
func (j *Journal) Failed(ids []string) error { return j.ids(opFailed, ids) }

// Deleted notes what was deleted from the dead-letter queue.
func (j *Journal) Deleted(ids []string) error { return j.ids(opDeleted, ids) }

func (j *Journal) ids(op string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return j.write(line{Op: op, IDs: ids})
}

// End notes that the run ended with nothing left to do, and closes the file.
func (j *Journal) End() error {
	err := j.write(line{Op: opEnd, At: time.Now().UTC()})
	return errors.Join(err, j.Close())
}

// Close closes the file. A run without End can be resumed.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.f.Sync(), j.f.Close())
}

func (j *Journal) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.torn != nil {
		return j.torn
	}
	n, err := j.f.Write(append(text, '\n'))
	if err != nil {
		err = fmt.Errorf("journal: %w", err)
		if e := j.cut(j.size); e != nil { // another line would make one with the part
			j.torn = err
		}
		return err
	}
	if j.size += int64(n); time.Since(j.synced) > time.Second {
		j.synced, err = time.Now(), j.f.Sync()
	}
	return err
}

// A Pending message was sent, or about to be sent, and is not known to be deleted.
type Pending struct {
	Entry
	At   time.Time // when it was first about to be sent
	Sent bool      // SQS confirmed it
}

// A State is what a journal says of a run that did not end.
type State struct {
	// Pending are by id.
	Pending map[string]*Pending
	// Sent is how many messages SQS confirmed.
	Sent int
	// Twice are the ids of messages that may have been sent twice.
	Twice []string
}

var errNoJournal = errors.New("it is not a journal; name another file")

// read reads the whole lines of a journal, and notes their size. s is nil for one of a run that
// ended, and for an empty file.
func (j *Journal) read(deleted func(id string)) (h Header, s *State, err error) {
	if _, err := j.f.Seek(0, io.SeekStart); err != nil {
		return h, nil, err
	}
	in := bufio.NewReaderSize(j.f, 64<<10)
	s = &State{Pending: map[string]*Pending{}}
	j.size = 0
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && n == 1 && isTornHeader(text): // nothing was done yet
			return h, nil, nil
		case errors.Is(err, io.EOF) && n == 1:
			return h, nil, errNoJournal
		case errors.Is(err, io.EOF):
			return h, s, nil
		case err != nil:
			return h, nil, err
		}
		j.size += int64(len(text))
		if n == 1 {
			if err := json.Unmarshal(text, &h); err != nil || h.Verb == "" {
				return h, nil, fmt.Errorf("line 1 is not the header of a journal: %w", errNoJournal)
			}
			if h.Version != version {
				return h, nil, fmt.Errorf("it has version %d, must be %d: use the sqsbatch that wrote it", h.Version, version)
			}
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return h, nil, fmt.Errorf("line %d: %w", n, err)
		}
		if l.Op == opEnd {
			return h, nil, nil
		}
		s.add(&l, deleted)
	}
}

// isTornHeader reports whether a text can be the beginning of a header.
func isTornHeader(text []byte) bool {
	const begin = `{"v":`
	return bytes.HasPrefix(text, []byte(begin)) || strings.HasPrefix(begin, string(text))
}

// add takes one step into account.
func (s *State) add(l *line, deleted func(id string)) {
	switch l.Op {
	case opSending:
		for _, e := range l.Entries {
			p := s.Pending[e.ID]
			if p == nil {
				p = &Pending{At: l.At}
				s.Pending[e.ID] = p
			}
			p.Entry = e
		}
	case opSent:
		for _, id := range l.IDs {
			if p := s.Pending[id]; p != nil && !p.Sent {
				p.Sent = true
				s.Sent++
			}
		}
	case opTwice:
		s.Twice = append(s.Twice, l.IDs...)
	case opFailed:
		for _, id := range l.IDs {
			delete(s.Pending, id)
		}
	case opDeleted:
		for _, id := range l.IDs {
			delete(s.Pending, id)
			deleted(id)
		}
	}
}
