package journal_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
)

// A line for which the disk has no room leaves nothing behind, so that the lines after it
// can be read. A limit of the size of files stands for the disk.
func TestJournal_SurvivesAFullDisk(t *testing.T) {
	j, path := create(t)
	must(t, j.Sending("orders", entries("one")))
	info, err := os.Stat(path)
	must(t, err)
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	limit := before
	limit.Cur = uint64(info.Size()) + 30
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	failed := j.Sending("orders", entries("two", "three"))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before))
	if failed == nil {
		t.Error("the line was written")
	}
	must(t, j.Sent([]string{"one"}, nil), j.Close())
	j, _, state, err := journal.Resume(path, func(string) {})
	must(t, err, j.End())
	if len(state.Pending) != 1 || !state.Pending["one"].Sent {
		t.Errorf("%+v", state)
	}
}
