package letter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// Bounds of what Stats keeps.
const (
	maxGroups  = 10_000
	maxName    = 200                 // characters of a group's name
	maxSources = 10                  // of a group
	maxHours   = 14 * 24 * time.Hour // the longest retention of SQS
)

// otherGroup is the group of the letters that came when there were maxGroups.
const otherGroup = "(other)"

// Stats counts letters in groups. It keeps no letter. It is not for concurrent use.
type Stats struct {
	name      func(l *Letter, now time.Time) (string, error)
	retention time.Duration
	report    Report // without Groups and Hours
	expiring  Expiring
	groups    map[string]*Group
	hours     map[int64]int // by hours since 1970
}

// NewStats returns a Stats that makes groups by
//
//   - "reason", or "": by [ReasonGroup], and letters without a reason by [Shape] and source
//   - "shape": by [Shape]
//   - "source": by the name of the queue that the message came from
//   - "hour": by the hour of [Letter.When], in UTC
//   - else by a jq program whose first output is the group's name (see [Letter.Input])
//
// retention is that of the dead-letter queue; 0 if it is not known. fifo says that it is a FIFO
// queue. There a retention begins anew when SQS moves a message, so that a message may expire
// later than its time of sending says.
func NewStats(by string, retention time.Duration, fifo bool) (*Stats, error) {
	s := &Stats{
		report: Report{By: cmp.Or(by, "reason")}, retention: retention, expiring: Expiring{AtTheEarliest: fifo},
		groups: make(map[string]*Group), hours: make(map[int64]int),
	}
	if s.name = names[s.report.By]; s.name == nil {
		program, err := compile("--by", by)
		if err != nil {
			return nil, fmt.Errorf("%w; --by takes reason, shape, source, hour, or a jq program", err)
		}
		s.name = program.groupName
	}
	return s, nil
}

var names = map[string]func(l *Letter, now time.Time) (string, error){
	"reason": func(l *Letter, _ time.Time) (string, error) {
		if reason := ReasonGroup(l.Reason()); reason != "" {
			return reason, nil
		}
		if source := l.SourceName(); source != "" {
			return Shape(l.Body) + " from " + source, nil
		}
		return Shape(l.Body), nil
	},
	"shape": func(l *Letter, _ time.Time) (string, error) { return Shape(l.Body), nil },
	"source": func(l *Letter, _ time.Time) (string, error) {
		return cmp.Or(l.SourceName(), "(unknown source)"), nil
	},
	"hour": func(l *Letter, _ time.Time) (string, error) {
		if l.When().IsZero() {
			return "(unknown time)", nil
		}
		return l.When().UTC().Format("2006-01-02 15:00"), nil
	},
}

// groupName is the first output of a program: a string as it is, else as JSON.
func (p *program) groupName(l *Letter, now time.Time) (string, error) {
	outputs, err := p.run(l, now, 1)
	if err != nil || len(outputs) == 0 || outputs[0] == nil {
		return "(none)", err
	}
	if name, ok := outputs[0].(string); ok {
		return name, nil
	}
	return string(marshal(outputs[0])), nil
}

// Add counts a letter. The error says that the jq program failed, and contains nothing of the
// letter's body. Such a letter is not counted.
func (s *Stats) Add(l *Letter, now time.Time) error {
	name, err := s.name(l, now)
	if err != nil {
		return err
	}
	r := &s.report
	r.Total++
	s.group(name).add(l)
	if !l.Sent.IsZero() {
		r.Oldest, r.Newest = earlier(r.Oldest, l.Sent), later(r.Newest, l.Sent)
	}
	if s.retention > 0 {
		s.expiring.add(l, s.retention, now)
	}
	switch {
	case l.Source != "":
		r.ByOrigin.MovedBySQS++
	case l.origin() != nil:
		r.ByOrigin.SentBySQSBatch++
	default:
		r.ByOrigin.Neither++
	}
	if when := l.When(); when.Before(now.Add(-maxHours)) || when.After(now.Add(time.Hour)) {
		r.OutsideHours++
	} else {
		s.hours[when.Unix()/3600]++
	}
	return nil
}

func (s *Stats) group(name string) *Group {
	name = show.Fit(name, maxName)
	g := s.groups[name]
	if g == nil && len(s.groups) >= maxGroups {
		name = otherGroup
		g = s.groups[name]
	}
	if g == nil {
		g = &Group{Name: name}
		s.groups[name] = g
	}
	return g
}

// earlier and later choose from two times. A zero time is not known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A Report is what Stats counted.
type Report struct {
	At    time.Time `json:"at"`
	By    string    `json:"by"`
	Total int       `json:"total"`
	// Oldest and Newest are when the oldest and the newest message were sent.
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
	// Expiring is nil if the queue's retention is not known.
	Expiring *Expiring `json:"expiring,omitempty"`
	ByOrigin Origins   `json:"byOrigin"`
	// Groups are sorted by their counts, the largest first.
	Groups []Group `json:"groups"`
	// Hours counts the letters by the hour of their When in UTC, from the first to the last
	// hour that has one. OutsideHours are those without a time or more than 14 days old.
	Hours        []Hour `json:"hours"`
	OutsideHours int    `json:"outsideHours,omitempty"`
}

// A Group is letters that have something in common. First and Last are the earliest and the
// latest When of them.
type Group struct {
	Name    string    `json:"name"`
	Count   int       `json:"count"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Example string    `json:"example"`           // the id of one
	Sources []string  `json:"sources,omitempty"` // names of queues, at most ten
}

func (g *Group) add(l *Letter) {
	g.Count++
	if when := l.When(); !when.IsZero() {
		g.First, g.Last = earlier(g.First, when), later(g.Last, when)
	}
	if g.Example == "" {
		g.Example = l.ID
	}
	if source := l.SourceName(); source != "" && len(g.Sources) < maxSources && !slices.Contains(g.Sources, source) {
		g.Sources = append(g.Sources, source)
	}
}

// An Hour counts the letters of an hour.
type Hour struct {
	Start time.Time `json:"start"`
	Count int       `json:"count"`
}

// Origins says how the letters came into the queue.
type Origins struct {
	SentBySQSBatch int `json:"sentBySqsbatch"`
	MovedBySQS     int `json:"movedBySqs"`
	Neither        int `json:"neither"`
}

// Expiring counts when the letters expire, each once. The counts are as of the time at which a
// letter was added.
type Expiring struct {
	Within1h int `json:"within1h"`
	Within1d int `json:"within1d"`
	Within4d int `json:"within4d"`
	Later    int `json:"later"`
	Unknown  int `json:"unknown,omitempty"`
	// First is when the first letter expires, and FirstID its id.
	First   time.Time `json:"first,omitzero"`
	FirstID string    `json:"firstId,omitempty"`
	// AtTheEarliest says that the letters may expire later (see [NewStats]).
	AtTheEarliest bool `json:"atTheEarliest,omitempty"`
}

func (e *Expiring) add(l *Letter, retention time.Duration, now time.Time) {
	if l.Sent.IsZero() {
		e.Unknown++
		return
	}
	expires := l.Sent.Add(retention)
	switch left := expires.Sub(now); {
	case left <= time.Hour:
		e.Within1h++
	case left <= 24*time.Hour:
		e.Within1d++
	case left <= 4*24*time.Hour:
		e.Within4d++
	default:
		e.Later++
	}
	if e.First.IsZero() || expires.Before(e.First) {
		e.First, e.FirstID = expires, l.ID
	}
}

// Report returns what was counted so far.
func (s *Stats) Report(now time.Time) Report {
	r := s.report
	r.At, r.Groups, r.Hours = now, make([]Group, 0, len(s.groups)), s.histogram()
	if s.retention > 0 {
		expiring := s.expiring
		r.Expiring = &expiring
	}
	for _, g := range s.groups {
		group := *g
		group.Sources = slices.Sorted(slices.Values(g.Sources))
		r.Groups = append(r.Groups, group)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return r
}

// histogram fills the gaps between the hours.
func (s *Stats) histogram() []Hour {
	hours := []Hour{}
	if len(s.hours) == 0 {
		return hours
	}
	all := slices.Sorted(maps.Keys(s.hours))
	for h := all[0]; h <= all[len(all)-1]; h++ {
		hours = append(hours, Hour{time.Unix(h*3600, 0).UTC(), s.hours[h]})
	}
	return hours
}
