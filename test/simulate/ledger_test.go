package simulate

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/test/random"
)

var ledgerFile = flag.String("ledger", "", "add to this file what was carried out, if all of it went well")

// ledger says what has been simulated so far.
type ledger struct {
	Histories       int            `json:"histories"`
	Records         int            `json:"records"`
	SimulatedHours  float64        `json:"simulated_hours"`
	Seconds         float64        `json:"seconds"` // that it took
	ProcessesKilled int            `json:"processes_killed"`
	Faults          map[string]int `json:"faults"` // by kind
}

// add adds what occurred in histories.
func (l *ledger) add(seen random.Seen, took time.Duration) {
	if l.Faults == nil {
		l.Faults = map[string]int{}
	}
	l.Histories += seen["history"]
	l.Records += seen["record"]
	l.SimulatedHours = math.Round(l.SimulatedHours + float64(seen["virtual second"])/3600)
	l.Seconds = math.Round(l.Seconds + took.Seconds())
	l.ProcessesKilled += seen["poll: process dies"]
	for what, n := range seen {
		if strings.HasPrefix(what, "killed: ") {
			l.ProcessesKilled += n
		}
		if _, fault, is := strings.Cut(what, "fault: "); is && n > 0 && !strings.HasPrefix(what, "state: ") {
			kind, _, _ := strings.Cut(fault, " of ")
			l.Faults[kind] += n
		}
	}
}

// addTo adds what occurred to a file.
func addTo(t *testing.T, file string, seen random.Seen, took time.Duration) {
	var l ledger
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &l)
	} else if os.IsNotExist(err) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	l.add(seen, took)
	if text, err = json.MarshalIndent(l, "", "\t"); err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestLedger_AddsUp(t *testing.T) {
	file := t.TempDir() + "/ledger.json"
	seen := random.Seen{"history": 2, "record": 30, "virtual second": 7200, "killed: crash": 1, "poll: process dies": 2,
		"fault: reset of SendMessageBatch": 3, "poll fault: reset of DeleteMessageBatch": 4, "store fault: hang of Claim": 0}
	addTo(t, file, seen, time.Second)
	addTo(t, file, seen, time.Second)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"histories":4,"records":60,"simulated_hours":4,"seconds":2,"processes_killed":6,"faults":{"reset":14}}`
	var l ledger
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(l); err != nil || string(got) != want {
		t.Errorf("the file has %s, error %v; want %s", got, err, want)
	}
}
