// Package sample has what the integration checks know of the sample events: the
// payloads, and whether what a function answers is what is documented.
package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Names are the events, with those below "refused/", which must fail the invocation.
func Names() (all []string, err error) {
	for _, pattern := range []string{"*.json", "refused/*.json"} {
		found, err := fs.Glob(events.FS, pattern)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("no sample event matches %s (%v)", pattern, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Refused reports whether an event must fail the invocation.
func Refused(name string) bool { return strings.HasPrefix(name, "refused/") }

// Timeout is the function's, as template.yaml has it. The answer to hang.json comes 0.7 s before
// it ends: a busy machine may take so long.
const Timeout = 10 * time.Second

// Check prints what the answer to an event is. It must be right by events/answers, and in time.
func Check(name string, answer []byte, took time.Duration) (err error) {
	defer must.Return(&err)
	said := ""
	if Refused(name) {
		var failure struct{ ErrorType, ErrorMessage string }
		if json.Unmarshal(answer, &failure) != nil || failure.ErrorMessage == "" || failure.ErrorType == "" {
			return fmt.Errorf("%s: answer is %s, want an error with its type and message", name, answer)
		}
		said = "refused: " + failure.ErrorMessage
	} else {
		want := must.Get(events.FS.ReadFile(path.Join("answers", name)))
		var got, documented any
		must.Do(json.Unmarshal(want, &documented))
		if json.Unmarshal(answer, &got) != nil || !reflect.DeepEqual(got, documented) {
			return fmt.Errorf("%s: answer is %s, want %s", name, answer, want)
		}
		said = fmt.Sprintf("as documented, lists %d", bytes.Count(answer, []byte("itemIdentifier")))
	}
	if took >= Timeout {
		return fmt.Errorf("%s: took %v, the timeout is %v", name, took, Timeout)
	}
	fmt.Printf("%-28s %5d ms  %s\n", name, took.Milliseconds(), said)
	return nil
}

// CheckSilence says which record's body is in a log, where none belongs.
func CheckSilence(log string) (err error) {
	defer must.Return(&err)
	log = strings.ReplaceAll(log, `\"`, `"`) // as it is quoted in a JSON line
	all := must.Get(Names())
	for _, name := range all {
		if Refused(name) {
			continue // it may have no records
		}
		payload := must.Get(events.FS.ReadFile(name))
		var event struct{ Records []struct{ Body string } }
		if err := json.Unmarshal(payload, &event); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i, r := range event.Records {
			if strings.Contains(log, r.Body) {
				return fmt.Errorf("%s: the body of record %d is in the log", name, i+1)
			}
		}
	}
	return nil
}
