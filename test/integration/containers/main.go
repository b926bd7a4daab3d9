// Package containers checks what is in deploy and the Dockerfile, as those read it
// who will use it: Kubernetes' schemas, the rules of BuildKit, Pod Security and
// KEDA (upstream), and a Docker engine, which builds the image and runs it
// against an SQS.
//
// It needs Python 3 with its venv module, and PyPI and the Go module proxy on
// the first use. The engine is one of its own, without a registry and without a
// network: that needs Linux, root, dockerd and a static busybox (Debian:
// docker.io, busybox-static).
//
// What deploy says against the code is tested by the tests in deploy, its
// CloudFormation templates are linted with all others by package sam.
package containers

import (
	"context"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

func Steps(ctx context.Context, s *stage.Stage) []stage.Step {
	rendered := filepath.Join(s.Tmp, "rendered.yaml")
	return []stage.Step{
		{Name: "upstream", Run: func() error { return runUpstream(ctx, s.Root, rendered) }},
		{Name: "manifests", Run: func() error { return checkManifests(ctx, s, rendered) }},
		{Name: "image", Run: func() error { return checkImage(ctx, s) }},
	}
}
