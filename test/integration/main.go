// Command integration holds this repository against what others have made: AWS's
// SAM and its Runtime Interface Emulator, moto, Docker, Kubernetes, and clients
// in other languages.
//
//	go run ./test/integration          lists the checks
//	go run ./test/integration NAME     runs one
//
// It ends with 1 when something is wrong, and when something cannot be tried on
// this machine: the file that -reason names then says why, if that is all. What
// it needs it installs into the user's cache directory, sqsbatch; logs are there,
// too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/clients"
	"github.com/sqsbatch/sqsbatch/test/integration/containers"
	"github.com/sqsbatch/sqsbatch/test/integration/dynamodb"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/integration/migrating"
	"github.com/sqsbatch/sqsbatch/test/integration/s3payload"
	"github.com/sqsbatch/sqsbatch/test/integration/sam"
	"github.com/sqsbatch/sqsbatch/test/integration/samdeploy"
	"github.com/sqsbatch/sqsbatch/test/integration/samlocal"
	"github.com/sqsbatch/sqsbatch/test/integration/snippets"
	"github.com/sqsbatch/sqsbatch/test/integration/starter"
)

// check is one of the folders next to this file, whose doc comment says more.
type check struct {
	name, about string
	steps       func(context.Context, *stage.Stage) []stage.Step
	flags       func(*flag.FlagSet) // nil for none
}

var checks = append([]check{
	{name: "sam", about: "lint every template, build with SAM for both architectures", steps: sam.Steps},
	{name: "samlocal", about: "sam local invoke of every sample event, in a container", steps: one(samlocal.Check)},
	{name: "samdeploy", about: "sam deploy, an update and sam delete against moto", steps: one(samdeploy.Check)},
	{name: "starter", about: "make a project with sam init; build, test and run it", steps: one(starter.Check)},
	{name: "snippets", about: "the snippets of docs/deploying, and its commands and those of the runbooks", steps: one(snippets.Check)},
	{name: "migrating", about: "the programs and commands of docs/migrating", steps: one(migrating.Check)},
	{name: "containers", about: "deploy/ and the Dockerfile; build and run the image", steps: containers.Steps},
	{name: "s3payload", about: "exchange messages in S3 with the SQS Extended Client for Python", steps: s3payload.Steps},
	{name: "dynamodb", about: "idempotency/dynamostore against DynamoDB Local, two workers and a kill, Powertools on the same table", steps: dynamodb.Steps},
	{name: "clients", about: "clients and libraries of others against sqsbatch sqs", steps: clients.Steps, flags: clients.Flags},
}, onLinux...)

// one makes a check of a single step.
func one(run func(context.Context, *stage.Stage) error) func(context.Context, *stage.Stage) []stage.Step {
	return func(ctx context.Context, s *stage.Stage) []stage.Step {
		return []stage.Step{{Name: "all of it", Run: func() error { return run(ctx, s) }}}
	}
}

func main() {
	if len(os.Args) < 2 {
		for _, c := range checks {
			fmt.Printf("%-11s %s\n", c.name, c.about)
		}
		return
	}
	at := slices.IndexFunc(checks, func(c check) bool { return c.name == os.Args[1] })
	if at < 0 {
		fmt.Fprintf(os.Stderr, "integration: there is no check %q on this system\n", os.Args[1])
		os.Exit(2)
	}
	c := checks[at]
	flags := flag.NewFlagSet(c.name, flag.ExitOnError)
	reason := flags.String("reason", "", "a file to say in why there is no verdict, if that is all")
	if c.flags != nil {
		c.flags(flags)
	}
	_ = flags.Parse(os.Args[2:]) // it exits at an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, notRun := c.run(ctx)
	err := errors.Join(append(wrong, notRun...)...)
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
	if len(wrong) == 0 && *reason != "" {
		if err := os.WriteFile(*reason, []byte(err.Error()+"\n"), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
		}
	}
	os.Exit(1)
}

// run runs all steps, whatever fails. notRun are errors that are no verdict.
func (c check) run(ctx context.Context) (wrong, notRun []error) {
	s, err := stage.New(ctx, c.name)
	if err != nil {
		return []error{err}, nil
	}
	defer func() {
		if err := s.Close(); err != nil {
			wrong = append(wrong, err)
		}
	}()
	for _, step := range c.steps(ctx, s) {
		begin := time.Now()
		fmt.Printf("\n%s\n", step.Name)
		err := step.Run()
		switch {
		case errors.Is(err, stage.ErrNotRun):
			notRun = append(notRun, fmt.Errorf("%s: %w", step.Name, err))
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", step.Name, err))
		}
		fmt.Printf("%s: %.1f s\n", step.Name, time.Since(begin).Seconds())
	}
	fmt.Printf("\nlog: %s\n", s.Log.Path)
	return wrong, notRun
}
