package console

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// A player shows a recording as it was after some of its entries. The console locks it.
type player struct {
	entries []entry
	at      int                // entries that the model has
	speed   int                // entries a second, 0 while it is paused
	pause   context.CancelFunc // of the goroutine that plays, nil if there is none
}

// now is the time of the last entry that the model has.
func (p *player) now() time.Time { return p.entries[max(p.at, 1)-1].at }

// now is the time that the page shows. c is locked.
func (c *Console) now() time.Time {
	if c.play != nil {
		return c.play.now()
	}
	return time.Now()
}

// seek goes to a place of the recording. c is locked.
func (c *Console) seek(to int) {
	to = max(1, min(to, len(c.play.entries)))
	if to < c.play.at {
		c.play.at, c.model = 0, newModel()
	}
	for ; c.play.at < to; c.play.at++ {
		c.model.apply(c.play.entries[c.play.at])
	}
}

// messages are the ids of those that an entry is about.
func (e entry) messages() []string {
	switch what := e.what.(type) {
	case sqs.Event:
		if what.NewMessageID != "" {
			return []string{what.MessageID, what.NewMessageID}
		}
		return []string{what.MessageID}
	case track.Started:
		return what.MessageIDs
	case track.Record:
		return []string{what.MessageID}
	case track.Warning:
		if what.MessageID != "" {
			return []string{what.MessageID}
		}
	}
	return nil
}

// describe says what an entry is.
func (e entry) describe() (text string) {
	switch what := e.what.(type) {
	case sqs.Event:
		text = fmt.Sprintf("%s, queue %s", what.Kind, what.Queue)
	case sqs.Call:
		text = fmt.Sprintf("call of %s, queue %s", what.Operation, what.Queue)
		if what.Error != "" {
			text += ": " + what.Error
		}
	case track.Started:
		text = fmt.Sprintf("invocation %d begins, with %s", what.Invocation, show.Count(len(what.MessageIDs), "record"))
	case track.Record:
		text = fmt.Sprintf("outcome %s at attempt %d", what.Outcome, what.Attempt)
	case track.Ended:
		text = fmt.Sprintf("invocation %d ends", what.Invocation)
	case track.Process:
		text = fmt.Sprintf("process %d begins", what.Process)
		if what.Ended != "" {
			text = fmt.Sprintf("process %d ends: %s", what.Process, what.Ended)
		}
	case track.Log:
		text = "a line of the log"
	case track.Warning:
		text = "warning: " + what.Text
	case queueList:
		text = "a queue is created, deleted, changed or paused"
	case About:
		text = "the run begins"
	}
	return cut(text)
}

// step is the place of the next entry, or of the one before with -1. With an id only entries about
// that message count. It is the place that it is given if there is none.
func (p *player) step(way int, id string) int {
	for to := p.at + way; to >= 1 && to <= len(p.entries); to += way {
		if id == "" || slices.Contains(p.entries[to-1].messages(), id) {
			return to
		}
	}
	return p.at
}

// speeds are those that the page offers, in entries a second. Entries count and not time: a
// recording may have hours in which nothing happens.
var speeds = []int{1, 10, 100, 1000}

// A playView is what the page shows of the player.
type playView struct {
	At, Of, Speed int
	Time          time.Time
	What, ID      string // of the last entry, "" if it is about several messages or none
	Speeds        []int
}

func (c *Console) playView() *playView {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.play == nil {
		return nil
	}
	last := c.play.entries[c.play.at-1]
	v := playView{At: c.play.at, Of: len(c.play.entries), Speed: c.play.speed, Time: last.at, What: last.describe(), Speeds: speeds}
	if ids := last.messages(); len(ids) == 1 {
		v.ID = ids[0]
	}
	return &v
}

// playing takes what the buttons of the player ask for.
func (c *Console) playing(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	id := r.PostFormValue("message")
	p, err := c.play, error(nil)
	c.change(func() {
		if p.pause != nil { // every button pauses
			p.pause()
			p.pause, p.speed = nil, 0
		}
		switch r.PostFormValue("do") {
		case "first":
			c.seek(1)
		case "back":
			c.seek(p.step(-1, id))
		case "next":
			c.seek(p.step(1, id))
		case "last":
			c.seek(len(p.entries))
		case "pause":
		case "go":
			var to int
			if to, err = number(r, "to", "Go to event", p.at, 1, len(p.entries)); err == nil {
				c.seek(to)
			}
		case "play":
			if p.speed, err = number(r, "speed", "Events per second", 1, 1, 1000); err == nil {
				ctx, cancel := context.WithCancel(c.ended)
				p.pause = cancel
				speed := p.speed
				c.served.Go(func() { c.advance(ctx, speed) })
			}
		default:
			err = fmt.Errorf("do is %q, which no button is", r.PostFormValue("do"))
		}
	})
	if err != nil {
		c.fail(w, r, http.StatusBadRequest, err)
		return
	}
	back(w, r)
}

// advance goes on by itself, until ctx ends or the recording does.
func (c *Console) advance(ctx context.Context, speed int) {
	pause := max(50*time.Millisecond, time.Second/time.Duration(speed))
	for n := max(1, speed*int(pause/time.Millisecond)/1000); sleep.For(ctx, pause); {
		over := false
		c.change(func() {
			if ctx.Err() != nil {
				return
			}
			c.seek(c.play.at + n)
			if over = c.play.at == len(c.play.entries); over {
				c.play.speed = 0
			}
		})
		if over {
			return
		}
	}
}

// snapshots are the queues of a recording at a time.
func (m *model) snapshots(at time.Time) (list []sqs.QueueSnapshot) {
	for _, q := range m.listed {
		s := sqs.QueueSnapshot{Name: q.Name, Attributes: q.Attributes, Paused: q.Paused}
		for _, x := range m.queue(q.Name).messages {
			switch x.now(at) {
			case inFlight:
				s.InFlight++
			case delayed:
				s.Delayed++
			default:
				s.Visible++
			}
		}
		list = append(list, s)
	}
	return list
}

// Play returns `sqsbatch play`.
func Play(tio cli.IO) *cobra.Command {
	const name = "play"
	addr := anyPort
	cmd := &cobra.Command{
		Use:   name + " [flags] FILE",
		Short: "show a recorded run on a web page, step by step",
		Long:  "Shows a run that --record FILE of sqsbatch local or sqsbatch sqs has written, on the page of --ui. The page shows the state after any event of the run. It goes to the next one, to the next one of a message, or on by itself.",
		Example: `sqsbatch local --once --record run.jsonl .
sqsbatch play run.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef(name, "it needs the file of a recording, and has %d arguments", len(args))
			}
			return play(cmd.Context(), args[0], addr, tio)
		},
	}
	cmd.Flags().Var(cli.Text(&addr, "HOST:PORT"), "ui", "where the page listens, on loopback only; port 0 is a free one")
	return cmd
}

func play(ctx context.Context, path, addr string, tio cli.IO) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	entries, err := readRecording(file)
	_ = file.Close() // it was only read
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c, err := Listen(Options{Addr: addr})
	if err != nil {
		return err
	}
	c.open(entries)
	c.Serve(c.run)
	defer c.Close()
	fmt.Fprintf(tio.Stdout, "%s has %s\nThe page is on %s\n", path, show.Count(len(entries), "event"), c.URL())
	select {
	case <-tio.Interrupts:
	case <-ctx.Done():
	}
	return nil
}

// open makes a console show a recording, from its end.
func (c *Console) open(entries []entry) {
	c.play = &player{entries: entries}
	for _, e := range entries {
		if about, ok := e.what.(About); ok {
			c.run.About = about
			break
		}
	}
	c.seek(len(entries))
}
