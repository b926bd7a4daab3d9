// Command deploy checks what is in deploy and the Dockerfile, as those read it
// who will use it: Kubernetes' schemas, the rules of BuildKit, Pod Security and
// KEDA (upstream), and a Docker engine, which builds the image and runs it
// against an SQS. It ends with 1 when anything is wrong.
//
//	go run ./test/integration/deploy
//
// It needs Python 3 with its venv module, and PyPI and the Go module proxy on
// the first use. The engine is one of its own, without a registry and without a
// network: that needs Linux, root, dockerd and a static busybox (Debian:
// docker.io, busybox-static). Where it cannot be had, the exit code is 1, too,
// and the file that -reason names says why, if nothing else was wrong.
//
// What deploy says against the code is tested by the tests in deploy, its
// CloudFormation templates are linted with all others by test/integration/sam.
package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

func main() {
	stage.Main("deploy", func(ctx context.Context, s *stage.Stage) []stage.Step {
		rendered := filepath.Join(s.Tmp, "rendered.yaml")
		return []stage.Step{
			{Name: "upstream", Run: func() error { return runUpstream(ctx, s.Root, rendered) }},
			{Name: "manifests", Run: func() error { return checkManifests(ctx, rendered) }},
			{Name: "image", Run: func() error { return checkImage(ctx, s.Root, s.Tmp) }},
		}
	})
}

// run runs a command whose output matters only when it fails.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
