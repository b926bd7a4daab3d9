package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// localGroup is the message group, on a FIFO queue, of messages without one.
const localGroup = "sqsbatch-local"

// sendAtHand sends the samples, or the messages of --event. The function does not poll yet.
func (r *run) sendAtHand(ctx context.Context, s *stack) error {
	for _, note := range s.input.notes {
		r.view.Say(note)
	}
	if note := s.sourceNote(); note != "" {
		r.view.Say(note)
	}
	first, again := s.input.messages, slices.DeleteFunc(slices.Clone(s.input.messages), firstAttempt)
	switch {
	case len(again) == 0:
	case s.deployment.Queue.FIFO:
		r.view.Say("the event's receive counts are left out: on a FIFO queue every message begins with its first attempt")
		again = nil
	default:
		first = slices.DeleteFunc(slices.Clone(first), func(m message.Message) bool { return !firstAttempt(m) })
	}
	show, err := r.sendRedelivered(ctx, s, again)
	if err != nil {
		return err
	}
	for _, m := range first {
		if _, err := r.send(ctx, s, m); err != nil {
			return err
		}
	}
	return show()
}

// hidden is SQS's longest visibility timeout, in seconds.
const hidden = 43200

func firstAttempt(m message.Message) bool { return m.Attempt <= 1 }

// sendRedelivered sends messages with receive counts above 1: it receives each, alone in
// the queue, until the next receive has the count, and hides it. The caller must call show,
// which makes them visible.
func (r *run) sendRedelivered(ctx context.Context, s *stack, messages []message.Message) (show func() error, err error) {
	var handles []*string
	for _, m := range messages {
		sent, err := r.send(ctx, s, m)
		if err != nil {
			return nil, err
		}
		for n := 1; sent && n < m.Attempt; n++ {
			h, err := s.hideOne(ctx)
			if err != nil {
				return nil, err
			}
			if h == nil {
				break // the message is in the dead-letter queue, after maxReceiveCount
			}
			if n == m.Attempt-1 {
				handles = append(handles, h)
			} else if err := s.show(ctx, h); err != nil {
				return nil, err
			}
		}
	}
	return func() error {
		for _, h := range handles {
			if err := s.show(ctx, h); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// hideOne receives the visible message and returns its handle, nil if there is none. It
// hides the message, because the SDK cannot send a visibility timeout of 0.
func (s *stack) hideOne(ctx context.Context) (handle *string, err error) {
	out, err := s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: &s.deployment.Queue.URL, VisibilityTimeout: hidden, MaxNumberOfMessages: 1,
	})
	if err != nil || len(out.Messages) == 0 {
		return nil, err
	}
	return out.Messages[0].ReceiptHandle, nil
}

func (s *stack) show(ctx context.Context, handle *string) error {
	_, err := s.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &s.deployment.Queue.URL, ReceiptHandle: handle, VisibilityTimeout: 0,
	})
	return err
}

func (r *run) sendLines(ctx context.Context, s *stack, tracker *track.Tracker) {
	err := message.Lines(r.stdin, func(m message.Message) error {
		_, err := r.send(ctx, s, m)
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.cancel(err)
	default:
		tracker.AllSent()
	}
}

// send sends one message. If SQS refuses it, send prints and counts that.
func (r *run) send(ctx context.Context, s *stack, m message.Message) (sent bool, err error) {
	id, refusal, err := s.send(ctx, m)
	if refusal != "" {
		r.refused.Add(1)
		r.view.Say(fmt.Sprintf("not sent: %s: %.60q", refusal, m.Body))
	}
	return id != "", err
}

// send sends one message. refusal is the reason for which SQS refuses it, "" if it does not.
func (s *stack) send(ctx context.Context, m message.Message) (id, refusal string, err error) {
	if !utf8.ValidString(m.Body) { // the client would change it, and the digest would be wrong
		return "", "it is not UTF-8", nil
	}
	began := time.Now()
	out, err := s.client.SendMessage(ctx, s.sendInput(m))
	s.stats.Own("SendMessage", began)
	var refused smithy.APIError
	switch {
	case errors.As(err, &refused):
		return "", refused.ErrorCode() + ": " + refused.ErrorMessage(), nil
	case err != nil:
		return "", "", err
	}
	return *out.MessageId, "", nil
}

// sendInput returns the request that sends a message to the source queue. On a FIFO queue, a
// message without a group or a deduplication id gets one.
func (s *stack) sendInput(m message.Message) *awssqs.SendMessageInput {
	in := &awssqs.SendMessageInput{
		QueueUrl: &s.deployment.Queue.URL, MessageBody: &m.Body,
		MessageAttributes: attribute.SDK(m.Attributes), MessageSystemAttributes: attribute.Trace(m.TraceHeader),
	}
	if m.GroupID != "" {
		in.MessageGroupId = aws.String(m.GroupID)
	}
	if s.deployment.Queue.FIFO {
		s.dedup++
		in.MessageGroupId = aws.String(cmp.Or(m.GroupID, localGroup))
		in.MessageDeduplicationId = aws.String(cmp.Or(m.DeduplicationID, fmt.Sprintf("%s-%d", localGroup, s.dedup)))
	}
	return in
}

// An input has the messages to send before the function polls, and notes about them.
type input struct {
	messages []message.Message
	sources  []string // ARNs of the queues of an event's records
	notes    []string
}

// expected is the part of errors that lists the forms of a file.
const expected = `a file must be an SQS event as in events/one.json, what ` + "`aws sqs receive-message`" + ` prints, or one body`

// readEvent reads the file, the directory or the standard input of --event.
func (r *run) readEvent(ctx context.Context) (in input, err error) {
	path := r.o.event
	if path == "-" {
		data, err := readAll(ctx, r.stdin)
		if err == nil {
			err = in.add("standard input", data)
		}
		return in, wrongEvent("standard input", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return in, wrongEvent(path, err)
	}
	if !info.IsDir() {
		return in, in.addFile(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return in, wrongEvent(path, err)
	}
	files, others := 0, []string(nil)
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" {
			others = append(others, e.Name())
			continue
		}
		if err := in.addFile(filepath.Join(path, e.Name())); err != nil {
			return in, err
		}
		files++
	}
	switch {
	case files == 0:
		return in, fmt.Errorf("--event %s: the directory has no file *.json; %s", path, expected)
	case len(others) > 0:
		in.notes = append(in.notes, fmt.Sprintf("%s: of a directory only files *.json are sent, not %s", path, someOf(others)))
	}
	return in, nil
}

// readAll reads all of in, or until ctx ends: a terminal has no end.
func readAll(ctx context.Context, in io.Reader) (data []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		data, err = io.ReadAll(in)
	}()
	select {
	case <-done:
		return data, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (in *input) addFile(path string) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = in.add(path, data)
	}
	return wrongEvent(path, err)
}

func (in *input) add(name string, data []byte) error {
	file, err := message.Parse(data)
	if err != nil {
		return err
	}
	switch {
	case file.Body != "":
		note := fmt.Sprintf("%s is sent as the body of one message: %s", name, file.Body)
		if file.Elements > 1 {
			note += "; for a message of each element: jq -c '.[]' FILE | sqsbatch local PACKAGE -"
		}
		in.notes = append(in.notes, note)
	case len(file.Messages) == 0:
		in.notes = append(in.notes, name+" has no records: nothing is sent")
	}
	if file.Counted {
		in.notes = append(in.notes, name+": the receive counts are left out, every message begins with its first attempt")
	}
	in.messages = append(in.messages, file.Messages...)
	for _, arn := range file.Sources {
		if !slices.Contains(in.sources, arn) {
			in.sources = append(in.sources, arn)
		}
	}
	return nil
}

func wrongEvent(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("--event: there is no %s; it names a file, a directory of files *.json, or - for standard input", name)
	default:
		return fmt.Errorf("--event %s: %w (%s)", name, err, expected)
	}
}

// someOf returns the first names, and the number of the others.
func someOf(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// samplesDirective begins a line in a file of a main package. The name of a file with
// messages for the function follows, relative to the package.
const samplesDirective = "//sqsbatch:samples "

// samples reads the files of messages that the package's directives name.
func samples(pkg *build.Package) (in input, found bool, err error) {
	for _, name := range pkg.Files {
		path := filepath.Join(pkg.Dir, name)
		source, err := os.ReadFile(path)
		if err != nil {
			return in, false, err
		}
		for n, line := range bytes.Split(source, []byte("\n")) {
			file, is := bytes.CutPrefix(line, []byte(samplesDirective))
			if !is {
				continue
			}
			found = true
			data, err := os.ReadFile(filepath.Join(pkg.Dir, filepath.FromSlash(string(bytes.TrimSpace(file)))))
			if err == nil {
				err = in.add(string(bytes.TrimSpace(file)), data)
			}
			if err != nil {
				return in, false, fmt.Errorf("%s:%d names samples: %w", path, n+1, err)
			}
		}
	}
	return in, found, nil
}

// nothingToSend returns an error with commands that name messages.
func (p *plan) nothingToSend() error {
	command := "sqsbatch local"
	for _, arg := range p.o.args {
		command += " " + show.Quote(arg)
	}
	beside := filepath.Dir(p.template.Path)
	file, dir := "FILE", "DIRECTORY"
	for _, pattern := range []string{"events/event.json", "event.json", "events/one.json", "events/*.json"} {
		if files, _ := filepath.Glob(filepath.Join(beside, filepath.FromSlash(pattern))); len(files) > 0 { // the patterns are valid
			file = show.Quote(files[0])
			break
		}
	}
	if events := filepath.Join(beside, "events"); isDir(events) {
		dir = show.Quote(events)
	}
	ways := []struct{ command, sends string }{
		{command + " --event " + file, "an SQS event, what `aws sqs receive-message` prints, or one body"},
		{command + " --event " + dir, "a directory of such files"},
		{`echo '{"id":1}' | ` + command + " -", "standard input, a body a line"},
		{command + " --no-samples", "nothing: send with any SQS client to the endpoint that is shown"},
	}
	if p.o.once {
		ways = ways[:3]
	}
	var text strings.Builder
	fmt.Fprintf(&text, "no messages to send: %s names no samples. Name messages in one of these ways:\n", p.pkgName)
	for _, way := range ways {
		fmt.Fprintf(&text, "  %s\n      %s\n", way.command, way.sends)
	}
	fmt.Fprintf(&text, "Or name a file of samples in the package, on a line of its own. That file is sent if no flag says what to send:\n  %sevents/one.json", samplesDirective)
	return errors.New(text.String())
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sourceNote returns a note on changes of the records' eventSourceARN, "" if there are none.
func (s *stack) sourceNote() string {
	queue := s.deployment.Queue
	changed, order := false, false
	for _, source := range s.input.sources {
		changed = changed || place(source) != place(queue.ARN)
		order = order || strings.HasSuffix(source, ".fifo") && !queue.FIFO
	}
	if !changed {
		return ""
	}
	note := fmt.Sprintf("eventSourceARN: the records come from %s here, not from %s", queue.ARN, someOf(s.input.sources))
	if order {
		note += "; it is not a FIFO queue, so order is not kept. --template FILE names a template with a FIFO queue"
	}
	return note
}

// place returns a queue's region and name, on which a function may depend. The account is
// always a test account.
func place(arn string) string {
	if a, err := endpoint.ParseARN(arn); err == nil {
		return a.Region + " " + a.Name
	}
	return arn
}
