// Command compat holds this repository against what others have made: AWS's
// SAM and its Runtime Interface Emulator, moto, Docker, Kubernetes, and clients
// in other languages.
//
//	go run ./test/compat          lists the checks
//	go run ./test/compat NAME     runs one
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

	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// check is one of the functions that run names, whose comment says more.
type check struct {
	name, about string
	run         func(context.Context, *tools.Stage) error
	flags       func(*flag.FlagSet) // nil for none
}

var checks = []check{
	{name: "sam", about: "lint every template, build with SAM for both architectures", run: checkSAM},
	{name: "samlocal", about: "sam local invoke of every sample event, in a container", run: checkSAMLocal},
	{name: "samdeploy", about: "sam deploy, an update and sam delete against moto", run: checkSAMDeploy},
	{name: "starter", about: "make a project with sam init; build, test and run it", run: checkStarter},
	{name: "snippets", about: "the snippets of docs/deploying, and its commands and those of the runbooks", run: checkSnippets},
	{name: "migrating", about: "the programs and commands of docs/migrating", run: checkMigrating},
	{name: "containers", about: "deploy/ and the Dockerfile; build and run the image", run: checkContainers},
	{name: "s3payload", about: "exchange messages in S3 with the SQS Extended Client for Python", run: checkS3Payload},
	{name: "live", about: "lint --live finds the mistakes of a stack in moto, and its commands fix them", run: checkLive, flags: liveFlags},
	{name: "dynamodb", about: "idempotency/dynamostore against DynamoDB Local, Powertools on the same table", run: checkDynamoDB},
	{name: "elasticmq", about: "package sender and the long poll with ElasticMQ as the server", run: checkElasticMQ},
	{name: "emulators", about: "ElasticMQ and moto compared with emulator/sqs", run: checkEmulators, flags: emulatorFlags},
	{name: "clients", about: "clients and libraries of others against sqsbatch sqs", run: checkClients, flags: clientFlags},
	{name: "terraform", about: "deploy/terraform: validate, plan, apply against moto", run: checkTerraform, flags: terraformFlags},
	{name: "rie", about: "the sample events under AWS's Runtime Interface Emulator (Linux)", run: checkRIE},
}

// programs has those in other languages.
const programs = "test/compat/programs"

func main() {
	if len(os.Args) < 2 {
		for _, c := range checks {
			fmt.Printf("%-11s %s\n", c.name, c.about)
		}
		return
	}
	at := slices.IndexFunc(checks, func(c check) bool { return c.name == os.Args[1] })
	if at < 0 {
		fmt.Fprintf(os.Stderr, "compat: there is no check %q on this system\n", os.Args[1])
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
	isWrong := func(err error) bool { return !errors.Is(err, tools.ErrNotRun) }
	if !slices.ContainsFunc(errs, isWrong) && *reason != "" {
		if err := os.WriteFile(*reason, []byte(err.Error()+"\n"), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
		}
	}
	os.Exit(1)
}

// try runs the check, and returns what is wrong with each step, or that it is no verdict.
func (c check) try(ctx context.Context) []error {
	s, err := tools.NewStage(ctx, c.name)
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
