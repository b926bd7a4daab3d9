package dlq

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
)

// disk notes what was written before each sync.
type disk struct {
	bytes.Buffer
	synced int
	err    error
}

func (d *disk) Close() error { return nil }
func (d *disk) Sync() error {
	d.synced = d.Len()
	return d.err
}

// A message whose copy did not reach the disk is not deleted.
func TestSave_IsOnTheDiskBeforeTheMessageIsDeleted(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		d := &disk{}
		f := newFile(d, compressed)
		letters := []*letter.Letter{{Message: message.Message{Body: "1"}, ID: "1"}}
		if err := f.save(letters); err != nil || d.synced == 0 || d.synced != d.Len() {
			t.Errorf("%d of %d bytes are on the disk; %v", d.synced, d.Len(), err)
		}
		d.err = errors.New("no space left")
		if err := f.save(letters); !errors.Is(err, d.err) {
			t.Errorf("save: %v", err)
		}
	}
}
