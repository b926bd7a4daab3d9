// Package containers checks deploy and the Dockerfile with the tools that read them:
// Kubernetes' schemas, the rules of BuildKit, Pod Security and KEDA (upstream), and a
// Docker engine, which builds the image and runs it against an SQS.
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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	rendered := filepath.Join(s.Tmp, "rendered.yaml")
	s.Step("upstream", func() error { return runUpstream(ctx, s.Root, rendered) })
	s.Step("manifests", func() error { return checkManifests(ctx, s, rendered) })
	s.Step("image", func() error { return checkImage(ctx, s) })
	return nil
}

// kubernetesValidate brings the schemas of Kubernetes along.
const kubernetesValidate = "1.37.0"

// runUpstream runs the checks that are in a module of their own.
func runUpstream(ctx context.Context, root, rendered string) error {
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-root", root, "-rendered", rendered)
	cmd.Dir = filepath.Join(root, "test", "integration", "containers", "upstream")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// checkManifests holds Kubernetes' own kinds against their schemas.
func checkManifests(ctx context.Context, s *stage.Stage, rendered string) (err error) {
	defer must.Return(&err)
	if _, err := os.Stat(rendered); err != nil {
		return fmt.Errorf("%w: Kustomize made nothing", stage.ErrNotRun)
	}
	env := must.Get(pyenv.Install(ctx, "kubernetes-validate-"+kubernetesValidate, "kubernetes-validate=="+kubernetesValidate))
	must.Get(s.Log.Run(env.Command(ctx, "-m", "kubernetes_validate", "--strict", "--no-warn", rendered)))
	fmt.Println("the manifests are as the schemas of Kubernetes " + kubernetesValidate + " want them")
	return nil
}
