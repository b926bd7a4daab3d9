// Package serve is the command `sqsbatch sqs`: the SQS emulator by itself, for
// programs in any language.
//
//	sqsbatch sqs --queue orders,dead-letter=dead,max-receive-count=5
//
// options.go has the flags, queue.go reads --queue and --template, create.go creates
// the queues, start.go prints the start, and events.go and rows.go are for --verbose.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// run serves until an interrupt comes or ctx ends, which is no error. The messages
// are gone then.
func run(ctx context.Context, o options, tio cli.IO) (err error) {
	queues, warnings, err := o.plan()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(tio.Stderr, "warning:", w)
	}

	settings := sqs.Options{
		Region: o.region, AccountID: o.account, AllowedHosts: o.hosts,
		History: -1, // nothing reads it, and it would only grow
	}
	var events *eventLog
	if o.verbose {
		events = newEventLog(tio.Stdout, o.output)
		settings.Observe, settings.ObserveCall = events.observe, events.observeCall
	}
	server, err := sqs.Serve(o.addr, settings)
	if err != nil {
		return errors.Join(listenError(o.addr, err), events.end())
	}
	defer func() {
		// The log first: a receive that the end interrupts is not an event.
		err = errors.Join(err, events.end(), server.Close())
	}()
	if err := create(ctx, server, queues); err != nil {
		return err
	}
	if o.readyFile != "" {
		remove, err := writeReadyFile(o.readyFile, server.URL())
		if err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
		defer remove()
	}
	if err := o.started(tio.Stdout, server, queues); err != nil {
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
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return fmt.Errorf("--addr %s: %w. If another sqsbatch sqs listens there, use that one or end it; "+
			"else choose another address (port 0 takes a free one)", addr, err)
	}
	return fmt.Errorf("--addr %s: %w", addr, err)
}
