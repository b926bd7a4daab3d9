package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

const (
	maxForm   = 4 << 20 // bytes of a form: a message has 1 MiB at most, and most characters take three
	maxBatch  = 900_000 // bytes of bodies of a SendMessageBatch, which has 1 MiB with what groups take
	maxCopies = 10_000  // of one form
	batchSize = 10      // messages of a SendMessageBatch
)

// bodiesCookie is set if the page shows bodies.
const bodiesCookie = "bodies"

// form reads the form of a request.
func (c *Console) form(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			err = errors.New("the form is too large: a message has at most 1 MiB")
		}
		c.fail(w, r, http.StatusBadRequest, err)
		return false
	}
	return true
}

// noteCookie has what the next page says about the form before it.
const noteCookie = "note"

// done answers a form with the page that it was on, which says what was done.
func done(w http.ResponseWriter, r *http.Request, note string) {
	http.SetCookie(w, &http.Cookie{Name: noteCookie, Value: url.QueryEscape(note), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: 60})
	back(w, r)
}

// note is what the page says about the form before it. It is said once.
func note(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(noteCookie)
	if err != nil || r.Header.Get("Sec-Fetch-Dest") == "empty" { // a page that is fetched again keeps its note
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: noteCookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	text, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return ""
	}
	return cut(text)
}

// back answers a form with the page that it was on.
func back(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, backTo(r), http.StatusSeeOther)
}

// backTo is the page that a form was on.
func backTo(r *http.Request) string {
	to := r.PostFormValue("back")
	if u, err := url.Parse(to); err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) {
		return "/"
	}
	return to
}

func (c *Console) showBodies(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	cookie := &http.Cookie{Name: bodiesCookie, Value: "shown", Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if r.PostFormValue("bodies") != "shown" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	back(w, r)
}

// copies is what the form to send asks for. In the body and the group, {n} is the number of the copy.
type copies struct {
	client      *awssqs.Client
	name, url   string // of the queue
	body, group string
	count       int
	delay       int // seconds
	rate        int // a second, 0 for all at once
}

// send sends one message, or several copies. With a rate it answers at once, and sends meanwhile.
func (c *Console) send(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	count, errCount := number(r, "count", "Copies", 1, 1, maxCopies)
	delay, errDelay := number(r, "delay", "Delay", 0, 0, 900)
	rate, errRate := number(r, "rate", "Per second", 0, 1, 1000)
	err := errors.Join(errCount, errDelay, errRate)
	if !utf8.ValidString(r.PostFormValue("body") + r.PostFormValue("group")) {
		err = errors.Join(err, errors.New("the body or the group is not UTF-8"))
	}
	if err != nil {
		c.fail(w, r, http.StatusBadRequest, err)
		return
	}
	name := r.PathValue("name")
	o := copies{
		client: c.run.Server.Client(), name: name, url: c.run.Server.QueueURL(name),
		body:  strings.ReplaceAll(r.PostFormValue("body"), "\r\n", "\n"), // as browsers send line feeds
		group: r.PostFormValue("group"), count: count, delay: delay, rate: rate,
	}
	if rate > 0 {
		c.sending.Go(func() {
			if err := o.send(c.ended); err != nil && c.ended.Err() == nil {
				c.Event(track.Warning{Text: err.Error()})
			}
		})
	} else if err := o.send(r.Context()); err != nil {
		c.fail(w, r, http.StatusBadRequest, err)
		return
	}
	note := fmt.Sprintf("Sent to %s: %s.", name, show.Count(count, "message"))
	if rate > 0 {
		note = fmt.Sprintf("Sending to %s: %s, %d per second.", name, show.Count(count, "message"), rate)
	}
	done(w, r, note)
}

// send sends the copies, ten in a call if there is no rate.
func (o *copies) send(ctx context.Context) error {
	var entries []types.SendMessageBatchRequestEntry
	sent, size := 0, 0
	flush := func() error {
		if len(entries) == 0 {
			return nil
		}
		out, err := o.client.SendMessageBatch(ctx, &awssqs.SendMessageBatchInput{QueueUrl: &o.url, Entries: entries})
		if err == nil && len(out.Failed) > 0 {
			err = fmt.Errorf("message %s: %s: %s", aws.ToString(out.Failed[0].Id), aws.ToString(out.Failed[0].Code), aws.ToString(out.Failed[0].Message))
		}
		if out != nil {
			sent += len(out.Successful)
		}
		if entries, size = nil, 0; err != nil {
			return fmt.Errorf("queue %s refuses a message after %d were sent: %w", o.name, sent, err)
		}
		return nil
	}
	for n := 1; n <= o.count; n++ {
		e := o.entry(n)
		if len(entries) == batchSize || size+len(*e.MessageBody) > maxBatch || o.rate > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		if o.rate > 0 && n > 1 && !sleep.For(ctx, time.Second/time.Duration(o.rate)) {
			return ctx.Err()
		}
		entries, size = append(entries, e), size+len(*e.MessageBody)
	}
	return flush()
}

func (o *copies) entry(n int) types.SendMessageBatchRequestEntry {
	number := strconv.Itoa(n)
	e := types.SendMessageBatchRequestEntry{Id: &number, MessageBody: aws.String(strings.ReplaceAll(o.body, "{n}", number))}
	if group := strings.ReplaceAll(o.group, "{n}", number); group != "" {
		e.MessageGroupId = &group
	}
	if strings.HasSuffix(o.name, ".fifo") {
		e.MessageDeduplicationId = aws.String(fmt.Sprintf("console-%d-%d", time.Now().UnixNano(), n))
	} else if o.delay > 0 {
		e.DelaySeconds = int32(o.delay)
	}
	return e
}

// number reads a number of a form. label is the name of its field on the page.
func number(r *http.Request, field, label string, empty, least, most int) (int, error) {
	text := strings.TrimSpace(r.PostFormValue(field))
	if text == "" {
		return empty, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q; it must be a number from %d to %d", label, text, least, most)
	}
	return n, nil
}

func (c *Console) purge(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	name := r.PathValue("name")
	if _, err := c.run.Server.Client().PurgeQueue(r.Context(), &awssqs.PurgeQueueInput{QueueUrl: aws.String(c.run.Server.QueueURL(name))}); err != nil {
		c.fail(w, r, http.StatusBadRequest, fmt.Errorf("queue %s is not purged: %w", name, err))
		return
	}
	back(w, r)
}

// replay moves dead letters of a queue back to where they came from: one by its id, those from a
// queue with a reason, or all.
func (c *Console) replay(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	name, id, from, reason := r.PathValue("name"), r.PostFormValue("id"), r.PostFormValue("from"), r.PostFormValue("reason")
	policy := c.look().policies[name]
	var list []*message
	c.mu.Lock()
	if q := c.model.queues[name]; q != nil {
		for _, x := range q.messages {
			if source := policy.source(x); source != "" && (id == "" || x.id == id) && (from == "" || source == from && x.deadReason() == reason) {
				list = append(list, x)
			}
		}
	}
	to := map[string][]string{}
	for _, x := range bySent(list) {
		source := policy.source(x)
		to[source] = append(to[source], x.id)
	}
	c.mu.Unlock()
	moved, errs := 0, []error(nil)
	for source, ids := range to {
		n, err := c.run.Server.Move(name, source, ids...)
		moved, errs = moved+n, append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil && moved < len(list) || len(list) == 0 {
		err = fmt.Errorf("%d of %d dead letters of queue %s were moved: the others are in flight, delayed, or gone", moved, len(list), name)
	}
	if err != nil {
		c.fail(w, r, http.StatusBadRequest, err)
		return
	}
	done(w, r, fmt.Sprintf("Replayed from %s: %s.", name, show.Count(moved, "message")))
}

// pause makes receives of a queue find nothing, or ends that.
func (c *Console) pause(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	paused := r.PostFormValue("paused")
	if paused != "yes" && paused != "no" {
		c.fail(w, r, http.StatusBadRequest, fmt.Errorf("paused is %q; it must be yes or no", paused))
		return
	}
	if err := c.run.Server.Pause(r.PathValue("name"), paused == "yes"); err != nil {
		c.fail(w, r, http.StatusNotFound, err)
		return
	}
	c.change(func() {})
	c.tellQueues(time.Now())
	back(w, r)
}

// kill kills the function's processes.
func (c *Console) kill(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	n := c.run.Kill()
	if n == 0 {
		c.fail(w, r, http.StatusBadRequest, errors.New("no process runs now that could be killed"))
		return
	}
	done(w, r, "Killed: "+show.Count(n, "process", "processes")+".")
}

// faults are those that the page offers.
var faults = map[string]sqs.Fault{
	"throttled":   {Kind: sqs.Throttled},
	"failure":     {Kind: sqs.Failure},
	"latency":     {Kind: sqs.Latency, Latency: time.Second},
	"lost answer": {Kind: sqs.LostAnswer},
	"refused":     {Kind: sqs.Refused},
	"duplicate":   {Kind: sqs.DuplicateDelivery},
}

func (c *Console) inject(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	f, ok := faults[r.PostFormValue("kind")]
	times, err := number(r, "times", "Times", 0, 1, 1_000_000)
	if !ok {
		err = errors.Join(err, fmt.Errorf("kind is %q; it must be one of the list", r.PostFormValue("kind")))
	}
	f.Operation, f.Queue, f.Times = r.PostFormValue("operation"), r.PostFormValue("queue"), times
	if f.Kind == sqs.DuplicateDelivery {
		f.Operation = ""
	}
	if err == nil {
		err = c.run.Server.Inject(f)
	}
	if err != nil {
		c.fail(w, r, http.StatusBadRequest, err)
		return
	}
	c.change(func() {})
	back(w, r)
}

func (c *Console) clearFaults(w http.ResponseWriter, r *http.Request) {
	if !c.form(w, r) {
		return
	}
	c.run.Server.ClearFaults()
	c.change(func() {})
	back(w, r)
}
