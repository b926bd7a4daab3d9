package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

const (
	// drainAndGrace is the sum of the defaults of SQSBATCH_DRAIN_LIMIT and SQSBATCH_GRACE.
	// drainMore is the additional time of a stop, 4 s of which are for settling.
	drainAndGrace = 25 * time.Second
	drainMore     = 5 * time.Second

	// idleAfter is the time after which a program that has received nothing causes a warning.
	idleAfter = 10 * time.Second
)

// runContainers runs processes that poll until ctx ends, and waits for their drain.
func (s *stack) runContainers(ctx, kill context.Context, tracker *track.Tracker) error {
	begun := time.Now() // this tool's own receives, see sendRedelivered, are older
	p := &processes{
		command: s.binary, env: s.containerEnvironment(), number: s.o.processes, stopTimeout: s.stopLimit() + drainMore,
		works: func() bool {
			return slices.ContainsFunc(s.server.Calls("ReceiveMessage"), func(c sqs.Call) bool { return c.Error == "" && c.Began.After(begun) })
		},
		idleAfter: idleAfter, idle: func() {
			tracker.Warn(fmt.Sprintf("%s has received nothing %s after its start: its main must call handler.Run, which polls SQSBATCH_QUEUE_URL", s.pkgName, idleAfter))
		},
		output: tracker.ProcessLine, changed: tracker.Process,
	}
	killAll := p.kill
	s.killAll.Store(&killAll)
	err := p.run(ctx, kill)
	if start, ok := errors.AsType[startError](err); ok {
		return fmt.Errorf("%s cannot start: %w%s", s.pkgName, start, printed(start.output,
			"a program that runs in a container too calls handler.Run in its main, which polls SQSBATCH_QUEUE_URL and does not return"))
	}
	return err
}

// containerEnvironment returns the environment of a container: the template's variables, --env,
// and test values for the region and the role's credentials.
func (s *stack) containerEnvironment() map[string]string {
	env := maps.Clone(s.deployment.Function.Environment)
	maps.DeleteFunc(env, func(name, _ string) bool { return strings.HasPrefix(name, "AWS_LAMBDA_") })
	var urls []string
	for _, q := range s.polled() {
		urls = append(urls, q.URL)
	}
	maps.Copy(env, map[string]string{
		settings.QueueURL.Name:      strings.Join(urls, ","),
		settings.LogSucceeded.Name:  "true",
		"AWS_ENDPOINT_URL_SQS":      s.server.URL(),
		"AWS_REGION":                region,
		"AWS_DEFAULT_REGION":        region,
		"AWS_ACCESS_KEY_ID":         "test",
		"AWS_SECRET_ACCESS_KEY":     "test",
		"AWS_EC2_METADATA_DISABLED": "true",
	})
	s.hasten(env)
	maps.Copy(env, s.o.env)
	return env
}

// stopLimit returns the largest duration of a stop, by the settings in the environment.
func (s *stack) stopLimit() time.Duration {
	env := s.configured()
	duration := func(name string, otherwise time.Duration) time.Duration {
		d, err := time.ParseDuration(env[name])
		if err != nil || d <= 0 {
			return otherwise // the function itself reports an invalid value
		}
		return d
	}
	grace := duration(settings.Grace.Name, time.Second)
	return grace + duration(settings.DrainLimit.Name, max(time.Second, drainAndGrace-grace))
}

// variables returns the toolkit's settings as KEY=VALUE, none on Lambda.
func (s *stack) variables() (list []string) {
	if s.o.mode != modePoll {
		return nil
	}
	env := s.configured()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, settings.Prefix) {
			list = append(list, name+"="+env[name])
		}
	}
	return list
}
