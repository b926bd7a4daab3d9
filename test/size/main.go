// Command size compares the bootstrap of examples/orders, built as the
// template builds it, with that of a function which links aws-lambda-go,
// config and service/sqs and does nothing with them (hello), and functions with
// an adapter of telemetry, an envelope or the like with one that has none (plain).
//
//	go run ./test/size
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal("size: ", err)
	}
}

// pairs are what is compared.
var pairs = []struct{ pkg, base string }{
	{"./examples/orders", "./test/size/hello"},
	{"./test/size/emf", "./test/size/plain"},
	{"./test/size/cloudwatch", "./test/size/plain"},
	{"./test/size/prometheus", "./test/size/plain"},
	{"./test/size/otel", "./test/size/plain"},
	{"./test/size/otelsdk", "./test/size/plain"},
	{"./test/size/encoded", "./test/size/plain"},
	{"./test/size/s3payload", "./test/size/plain"},
	{"./test/size/sns", "./test/size/plain"},
	{"./test/size/eventbridge", "./test/size/plain"},
	{"./test/size/s3event", "./test/size/plain"},
	{"./test/size/classify", "./test/size/plain"},
	{"./test/size/protobuf", "./test/size/plain"},
	{"./test/size/ratelimit", "./test/size/plain"},
	{"./test/size/breaker", "./test/size/plain"},
	{"./test/size/httpworker", "./test/size/plain"},
	{"./test/size/bulk", "./test/size/plain"},
}

func run() error {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, arch := range []string{"arm64", "amd64"} {
		for _, c := range pairs {
			got, err := size(dir, arch, c.pkg)
			if err != nil {
				return err
			}
			base, err := size(dir, arch, c.base)
			if err != nil {
				return err
			}
			fmt.Printf("%s: %s %d bytes, %s %d bytes: %.3f ×\n", arch, c.pkg, got, c.base, base, float64(got)/float64(base))
		}
	}
	return nil
}

func size(dir, arch, pkg string) (int64, error) {
	out := filepath.Join(dir, "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", pkg, err, text)
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
