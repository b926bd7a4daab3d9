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
	run         func(context.Context, *stage.Stage) error
	flags       func(*flag.FlagSet) // nil for none
}

var checks = append([]check{
	{name: "sam", about: "lint every template, build with SAM for both architectures", run: sam.Check},
	{name: "samlocal", about: "sam local invoke of every sample event, in a container", run: samlocal.Check},
	{name: "samdeploy", about: "sam deploy, an update and sam delete against moto", run: samdeploy.Check},
	{name: "starter", about: "make a project with sam init; build, test and run it", run: starter.Check},
	{name: "snippets", about: "the snippets of docs/deploying, and its commands and those of the runbooks", run: snippets.Check},
	{name: "migrating", about: "the programs and commands of docs/migrating", run: migrating.Check},
	{name: "containers", about: "deploy/ and the Dockerfile; build and run the image", run: containers.Check},
	{name: "s3payload", about: "exchange messages in S3 with the SQS Extended Client for Python", run: s3payload.Check},
	{name: "dynamodb", about: "idempotency/dynamostore against DynamoDB Local, two workers and a kill, Powertools on the same table", run: dynamodb.Check},
	{name: "clients", about: "clients and libraries of others against sqsbatch sqs", run: clients.Check, flags: clients.Flags},
}, onLinux...)

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
	errs := c.try(ctx)
	err := errors.Join(errs...)
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
	isWrong := func(err error) bool { return !errors.Is(err, stage.ErrNotRun) }
	if !slices.ContainsFunc(errs, isWrong) && *reason != "" {
		if err := os.WriteFile(*reason, []byte(err.Error()+"\n"), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
		}
	}
	os.Exit(1)
}

// try runs the check, and returns what is wrong with each step, or that it is no verdict.
func (c check) try(ctx context.Context) []error {
	s, err := stage.New(ctx, c.name)
	if err != nil {
		return []error{err}
	}
	s.Step("all of it", func() error { return c.run(ctx, s) })
	fmt.Printf("\nlog: %s\n", s.Log.Path)
	if err := s.Close(); err != nil {
		s.Errs = append(s.Errs, err)
	}
	return s.Errs
}
