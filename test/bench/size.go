package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

// sizePackages are the function of the template, after what it is compared with.
var sizePackages = []sizeProgram{
	{"client", "./test/bench/client", ""},
	{"examples/orders", "./examples/orders", ""},
}

// adapters are compared with the first, a function without one.
var adapters = []sizeProgram{
	{"plain", "", "handler.Run(h)"},
	{"telemetry/emf", "telemetry/emf", "handler.RunWith(h, handler.Config{Hooks: emf.New(emf.Config{}).Hooks()})"},
	{"telemetry/cloudwatch", "telemetry/cloudwatch", "handler.RunWith(h, handler.Config{Hooks: cloudwatch.New(cloudwatch.Config{}).Hooks()})"},
	{"telemetry/prometheus", "net/http telemetry/prometheus", `metrics := prometheus.New(prometheus.Config{})
	handler.RunWith(h, handler.Config{Hooks: metrics.Hooks(), Poll: handler.PollConfig{Handlers: map[string]http.Handler{"/metrics": metrics.Handler()}}})`},
	{"telemetry/otel", "telemetry/otel", "handler.RunWith(h, handler.Config{Hooks: otel.New(otel.Config{}).Hooks()})"},
	{"telemetry/otel and an SDK", "go.opentelemetry.io/otel/sdk/metric go.opentelemetry.io/otel/sdk/trace telemetry/otel", `spans, points := trace.NewTracerProvider(), metric.NewMeterProvider()
	handler.RunWith(h, handler.Config{Hooks: otel.New(otel.Config{TracerProvider: spans, MeterProvider: points, Flush: spans.ForceFlush}).Hooks()})`},
	{"payload/encoded", "payload/encoded", "handler.Run(encoded.Unwrap(h))"},
	{"payload/s3payload", "payload/s3payload", `handler.Run(s3payload.Unwrap(s3payload.Config{Buckets: []string{"payloads"}})(h))`},
	{"payload/protobuf", "google.golang.org/protobuf/types/known/wrapperspb payload/protobuf", `_ = h
	handler.Run(protobuf.Handler(func(context.Context, *wrapperspb.StringValue) error { return nil }))`},
	{"envelope/sns", "envelope/sns", "handler.Run(sns.Unwrap(h))"},
	{"envelope/eventbridge", "envelope/eventbridge", "handler.Run(eventbridge.Unwrap(h))"},
	{"envelope/s3event", "github.com/aws/aws-lambda-go/events envelope/s3event", `_ = h
	handler.Run(s3event.Each(func(context.Context, events.S3EventRecord) error { return nil }))`},
	{"classify", "classify/awserr classify/httpstatus", "handler.RunWith(h, handler.Config{Classify: batch.FirstOf(awserr.New(awserr.Config{}), httpstatus.Classify)})"},
	{"middleware/ratelimit", "golang.org/x/time/rate middleware/ratelimit", "handler.Run(batch.Chain(h, ratelimit.New(rate.NewLimiter(50, 10))))"},
	{"middleware/breaker", "github.com/sony/gobreaker/v2 middleware/breaker", "handler.Run(batch.Chain(h, breaker.New(gobreaker.Settings{})))"},
	{"bulk", "bulk", `_ = h
	handler.Run(bulk.New(func(_ context.Context, r batch.Record) (string, error) { return r.Body, nil },
		func(context.Context, []bulk.Item[string]) error { return nil }, bulk.Config{}))`},
}

// sizeProgram is a statement of main, in which h is a handler, and its imports, of this module
// if without a dot. Without a statement it is a main package of this module.
type sizeProgram struct{ name, imports, statement string }

func (p sizeProgram) source() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"context\"\n")
	for path := range strings.FieldsSeq("batch handler " + p.imports) {
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") && first != "net" && first != "log" {
			path = ownModule + path
		}
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString(")\n\nfunc main() {\n\th := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })\n\t" + p.statement + "\n}\n")
	return b.String()
}

// size compares the bootstrap of examples/orders, built as the template builds
// it, with that of a function which makes one call by the SDK alone
// (client), and a function that uses one adapter, envelope or the like with one
// that uses none (plain).
func size(ctx context.Context, _ []string) error {
	dir, err := buildDir()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, arch := range []string{"arm64", "amd64"} {
		for _, list := range [][]sizeProgram{sizePackages, adapters} {
			if err := compareSizes(ctx, dir, arch, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// buildDir makes a folder for sources of this module that are in no package pattern.
func buildDir() (string, error) { return os.MkdirTemp("test/bench", "_build") }

// compareSizes builds programs in dir, and prints the size of each next to that of the first.
func compareSizes(ctx context.Context, dir, arch string, list []sizeProgram) error {
	var first int64
	for i, p := range list {
		size, err := p.size(ctx, dir, arch)
		if err != nil {
			return err
		}
		if i == 0 {
			first = size
			continue
		}
		fmt.Printf("%s: %s %d bytes, %s %d bytes: %.3f ×\n", arch, p.name, size, list[0].name, first, float64(size)/float64(first))
	}
	return nil
}

func (p sizeProgram) size(ctx context.Context, dir, arch string) (int64, error) {
	out := filepath.Join(dir, "bootstrap")
	if err := p.build(ctx, dir, arch, out); err != nil {
		return 0, err
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// build writes the program to out. dir is for its source.
func (p sizeProgram) build(ctx context.Context, dir, arch, out string) error {
	pkg := p.imports
	if p.statement != "" {
		pkg = filepath.Join(dir, "main.go")
		if err := os.WriteFile(pkg, []byte(p.source()), 0o600); err != nil {
			return err
		}
	}
	return harness.BuildFunction(ctx, out, pkg, arch)
}
