package containers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

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
func checkManifests(ctx context.Context, s *stage.Stage, rendered string) error {
	if _, err := os.Stat(rendered); err != nil {
		return fmt.Errorf("%w: Kustomize made nothing", stage.ErrNotRun)
	}
	env, err := pyenv.Install(ctx, "kubernetes-validate-"+kubernetesValidate, "kubernetes-validate=="+kubernetesValidate)
	if err != nil {
		return err
	}
	if _, err := s.Log.Run(env.Command(ctx, "-m", "kubernetes_validate", "--strict", "--no-warn", rendered)); err != nil {
		return err
	}
	fmt.Println("the manifests are as the schemas of Kubernetes " + kubernetesValidate + " want them")
	return nil
}
