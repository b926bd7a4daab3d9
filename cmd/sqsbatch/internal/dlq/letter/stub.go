package letter

import (
	"io"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

type Report struct{}
type Stats struct{}

func NewStats(by string, r time.Duration, fifo bool) (*Stats, error) { return &Stats{}, nil }
func (s *Stats) Add(l *Letter, now time.Time) error                  { return nil }
func (s *Stats) Report(now time.Time) Report                         { return Report{} }
func (r Report) Text(w io.Writer, t view.Terminal)                   {}

func Show(w io.Writer, l *Letter, n time.Time, t view.Terminal) error { return nil }
