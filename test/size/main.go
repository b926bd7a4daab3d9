// Command size compares the bootstrap of examples/orders, built as the
// template builds it, with that of a function which links aws-lambda-go,
// config and service/sqs and does nothing with them (hello).
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

func run() error {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, arch := range []string{"arm64", "amd64"} {
		orders, err := size(dir, arch, "./examples/orders")
		if err != nil {
			return err
		}
		hello, err := size(dir, arch, "./test/size/hello")
		if err != nil {
			return err
		}
		fmt.Printf("%s: examples/orders %d bytes, hello %d bytes: %.3f ×\n", arch, orders, hello, float64(orders)/float64(hello))
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
