// Package serve is the command `sqsbatch sqs`: the SQS emulator by itself, for
// programs in any language.
//
//	sqsbatch sqs --queue orders,dead-letter=dead,max-receive-count=5
//
// options.go has the flags, queue.go reads --queue and --template and creates the
// queues, and events.go and rows.go are for --verbose.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// run serves until an interrupt, or ctx's end, for which it returns nil. The messages are
// gone then.
func run(ctx context.Context, o options, tio cli.IO) (err error) {
	queues, warnings, err := o.plan()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(tio.Stderr, "warning:", w)
	}

	settings := sqs.Config{
		Region: o.region, AccountID: o.account, AllowedHosts: o.hosts,
		History: -1, // not read here
	}
	var events *eventLog
	if o.verbose {
		events = newEventLog(tio.Stdout, o.output)
		settings.Observe, settings.ObserveCall = events.observe, events.observeCall
	}
	page, err := console.Listen(o.page)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	settings.Observe, settings.ObserveCall = page.Observe(settings.Observe), page.ObserveCall(settings.ObserveCall)
	server, err := sqs.Serve(o.addr, settings)
	if err != nil {
		return errors.Join(listenError(o.addr, err), events.end())
	}
	defer func() {
		// The log ends first, so that it has no receives that Close interrupts.
		err = errors.Join(err, events.end(), server.Close())
	}()
	if err := create(ctx, server, queues); err != nil {
		return err
	}
	page.Serve(console.Run{Server: server})
	if o.readyFile != "" {
		remove, err := writeReadyFile(o.readyFile, server.URL())
		if err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
		defer remove()
	}
	if err := o.started(tio.Stdout, server, page.URL(), queues); err != nil {
		return err
	}
	events.start()
	select {
	case <-tio.Interrupts:
	case <-ctx.Done():
	}
	return nil
}

func listenError(addr string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "listen" {
		return fmt.Errorf("--addr %s: %w. If another sqsbatch sqs listens there, use that one or end it; "+
			"else choose another address (port 0 takes a free one)", addr, err)
	}
	return fmt.Errorf("--addr %s: %w", addr, err)
}

// started prints the endpoint, the queues and the variables for clients.
func (o *options) started(w io.Writer, server *sqs.Server, page string, queues []queue) error {
	switch {
	case o.quiet:
		return nil
	case o.output == "json":
		return o.startedJSON(w, server, page, queues)
	}
	return o.startedText(w, server, page, queues)
}

func (o *options) startedText(w io.Writer, server *sqs.Server, page string, queues []queue) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "SQS listens on %s (region %s, account %s)\n\n", server.URL(), o.region, o.account)
	if page != "" {
		fmt.Fprintf(&out, "The page is on %s\n\n", page)
	}
	if len(queues) == 0 {
		out.WriteString("There are no queues yet: clients create them, or --queue NAME does.\n\n")
	} else {
		var rows bytes.Buffer
		table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
		for _, q := range queues {
			deadLetters := ""
			if q.deadLetter != "" {
				deadLetters = fmt.Sprintf("dead letters to %s, maxReceiveCount %d", q.deadLetter, q.maxReceiveCount)
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", q.name, server.QueueURL(q.name), deadLetters)
		}
		_ = table.Flush() // a bytes.Buffer takes everything
		for row := range bytes.Lines(rows.Bytes()) {
			fmt.Fprintf(&out, "%s\n", bytes.TrimRight(row, " \n"))
		}
		out.WriteString("\n")
	}
	out.WriteString("Clients find it by these variables; any credentials will do:\n\n")
	assignment := "  export %s=%s\n"
	if runtime.GOOS == "windows" {
		assignment = "  $env:%s = '%s'\n"
	}
	for _, v := range [][2]string{ // Python's SDK and the AWS CLI read AWS_DEFAULT_REGION
		{"AWS_ENDPOINT_URL_SQS", server.URL()}, {"AWS_REGION", o.region}, {"AWS_DEFAULT_REGION", o.region},
		{"AWS_ACCESS_KEY_ID", "test"}, {"AWS_SECRET_ACCESS_KEY", "test"},
	} {
		fmt.Fprintf(&out, assignment, v[0], v[1])
	}
	out.WriteString("\nready\n")
	_, err := w.Write(out.Bytes())
	return err
}

func (o *options) startedJSON(w io.Writer, server *sqs.Server, page string, queues []queue) error {
	type jsonQueue struct {
		Name            string `json:"name"`
		URL             string `json:"url"`
		ARN             string `json:"arn"`
		DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
		MaxReceiveCount int    `json:"maxReceiveCount,omitempty"`
	}
	list := make([]jsonQueue, len(queues))
	for i, q := range queues {
		list[i] = jsonQueue{Name: q.name, URL: server.QueueURL(q.name), ARN: server.QueueARN(q.name)}
		if q.deadLetter != "" {
			list[i].DeadLetterQueue, list[i].MaxReceiveCount = q.deadLetter, q.maxReceiveCount
		}
	}
	return json.NewEncoder(w).Encode(struct {
		Type      string      `json:"type"`
		Endpoint  string      `json:"endpoint"`
		Region    string      `json:"region"`
		AccountID string      `json:"accountId"`
		Page      string      `json:"page,omitempty"` // of --ui
		Queues    []jsonQueue `json:"queues"`
	}{"ready", server.URL(), o.region, o.account, page, list})
}

// writeReadyFile creates the file atomically, because scripts wait for it. remove removes it.
func writeReadyFile(path, endpoint string) (remove func(), err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(endpoint + "\n")
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error matters
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}
