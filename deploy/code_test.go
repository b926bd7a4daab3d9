// Package deploy_test holds the files of deploy against the code and against each
// other. Linters and schemas are those of test/compat/containers.go.
package deploy_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/settings"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// stopTakes is the longest that a stop takes with a drain limit, 0 for the default.
func stopTakes(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	p := longpoll.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
		longpoll.Config{Queue: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", SQS: sqs.New(sqs.Options{}), DrainLimit: limit})
	return p.StopTakes()
}

// The second is for the process to end.
func TestDefaultsFitInto30Seconds(t *testing.T) {
	if all := stopTakes(t, 0); all > 29*time.Second {
		t.Errorf("a stop takes up to %v by default; Amazon ECS and Kubernetes kill after 30s", all)
	}
}

// checkStop holds a drain limit against the time after which the platform kills.
func checkStop(t *testing.T, where, limit string, kill time.Duration) {
	t.Helper()
	d, err := time.ParseDuration(limit)
	if err != nil {
		t.Errorf("%s: SQSBATCH_DRAIN_LIMIT: %v", where, err)
		return
	}
	if rest := kill - stopTakes(t, d); rest < time.Second || rest > 2*time.Second {
		t.Errorf("%s: a stop with the drain limit %v leaves %v of %v, want 1s to 2s", where, d, rest, kill)
	}
}

// checkVariables holds the names that a deployment sets against the settings.
func checkVariables(t *testing.T, where string, set []string) {
	t.Helper()
	for _, name := range set {
		if name != settings.LogLevel && !slices.Contains(settings.Names(), strings.TrimPrefix(name, settings.Prefix)) {
			t.Errorf("%s sets %s, which nothing reads", where, name)
		}
	}
	for _, s := range []settings.Setting{settings.QueueURL, settings.DeadLetterQueue, settings.DrainLimit, settings.HealthAddr} {
		if !slices.Contains(set, s.Name) {
			t.Errorf("%s does not set %s", where, s.Name)
		}
	}
}

// user is who the program runs as, everywhere.
const user = "65532"

func TestImageHasTheGoOfTheModule(t *testing.T) {
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(docpage.Read(t, "../go.mod"))
	image := regexp.MustCompile(`(?m)^FROM \S+ golang:([\d.]+)@sha256:[0-9a-f]{64} AS go$`).FindStringSubmatch(docpage.Read(t, "../Dockerfile"))
	if module == nil || image == nil || module[1] != image[1] {
		t.Errorf("go.mod has %s, Dockerfile %s", module, image)
	}
}
