package longpoll_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// wantOutage compares the lines about something that goes on failing, all that
// were written: one at its beginning, and then serious ones.
func (w *world) wantOutage(what string, serious int) {
	w.t.Helper()
	all, lines, errors := w.warningsWith(""), w.warningsWith(what), w.warningsWith("ERROR queue "+w.URL+": "+what+", for ")
	if len(errors) != serious || len(lines) != serious+1 || len(all) != len(lines) || strings.HasPrefix(lines[0], "ERROR") {
		w.t.Errorf("told %q, want a line that %q, %d serious ones, and nothing else", all, what, serious)
	}
}

// An outage is reported when it begins, again after a minute, and every five
// minutes, with how long it takes by now.
func TestOutageGoesOn_IsLoggedAgain(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: receiving, Code: "QueueDoesNotExist"})
		w.after(70 * time.Second) // the open receive takes 19 s of them
		w.wantOutage("receiving fails", 0)
		w.after(40 * time.Second)
		w.wantOutage("receiving fails", 1)
		w.after(5*time.Minute + 20*time.Second) // a try comes every 20 s at most
		w.wantOutage("receiving fails", 2)
		w.after(2 * time.Hour)
		if n := len(w.warningsWith("ERROR queue ")); n < 24 || n > 26 {
			t.Errorf("%d lines after two hours more, want one every five minutes", n)
		}
		all := w.warningsWith("")
		last := all[len(all)-1]
		if !strings.Contains(last, "fails, for 2h") || !strings.Contains(last, "tries so far: there is no such queue") {
			t.Errorf("the last line is %q", last)
		}
		w.Server().ClearFaults()
		w.after(time.Minute)
		if got := w.warningsWith("receiving works again, after 2h"); len(got) != 1 {
			t.Errorf("told %q when it worked again", got)
		}
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: receiving}) // another outage is no part of the first
		w.after(40 * time.Second)
		all = w.warningsWith("")
		if last := all[len(all)-1]; strings.HasPrefix(last, "ERROR") || strings.Contains(last, ", for ") {
			t.Errorf("a new outage begins with %q", last)
		}
	})
}

func TestExtensionsKeepFailing_AreLoggedAgain(t *testing.T) {
	inWorld(t, standardQueue, lasting(time.Hour), func(c *longpoll.Config) { c.Engine.RecordTimeout = 2 * time.Hour }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
		w.Send("a")
		w.start()
		w.after(15 * time.Minute)
		lines, errors := w.warningsWith("visibility fails"), w.warningsWith("ERROR queue "+w.URL+": extending the records' visibility fails, for ")
		if len(lines) != 4 || len(errors) != 3 { // after 20 s, 1m20s, 6m20s, 11m20s
			t.Errorf("told %q, want a line and three serious ones", lines)
		}
	})
}
