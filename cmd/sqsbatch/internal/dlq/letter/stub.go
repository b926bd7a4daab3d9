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

type Reader struct{}

func NewReader(r io.Reader) *Reader                               { return nil }
func (r *Reader) Next() (Letter, error)                           { return Letter{}, io.EOF }
func (l *Letter) AppendJSON(dst []byte, q string) []byte          { return dst }
func Show(w io.Writer, l *Letter, n time.Time, t view.Terminal) error { return nil }
