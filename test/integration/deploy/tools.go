package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// cfn-lint is AWS's own; kubernetes-validate brings the schemas of Kubernetes
// along, so that nothing has to be fetched from where they are published.
const (
	cfnLint            = "1.58.0"
	kubernetesValidate = "1.37.0"
)

func tools(ctx context.Context) (*pyenv.Env, error) {
	return pyenv.Install(ctx, "cfn-lint-"+cfnLint+"-kubernetes-validate-"+kubernetesValidate,
		"cfn-lint=="+cfnLint, "kubernetes-validate=="+kubernetesValidate)
}

// checkTemplates lints every CloudFormation template in deploy.
func checkTemplates(ctx context.Context, root string) error {
	env, err := tools(ctx)
	if err != nil {
		return err
	}
	args := []string{"-c", "import sys, cfnlint.runner; sys.exit(cfnlint.runner.main())", "--"} // what its command does
	for _, name := range []string{"queue.yaml", "ecs/service.yaml", "kubernetes/role.yaml"} {
		args = append(args, filepath.Join(root, "deploy", filepath.FromSlash(name)))
	}
	if err := run(env.Command(ctx, args...)); err != nil {
		return err
	}
	fmt.Printf("cfn-lint finds nothing in %d templates\n", len(args)-3)
	return nil
}

// runUpstream runs the checks that are in a module of their own.
func runUpstream(ctx context.Context, root, rendered string) error {
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-root", root, "-rendered", rendered)
	cmd.Dir = filepath.Join(root, "test", "integration", "deploy", "upstream")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// checkManifests holds Kubernetes' own kinds against their schemas; KEDA's are
// checked in upstream.
func checkManifests(ctx context.Context, rendered string) error {
	if _, err := os.Stat(rendered); err != nil {
		return fmt.Errorf("%w: Kustomize made nothing", stage.ErrNotRun)
	}
	env, err := tools(ctx)
	if err != nil {
		return err
	}
	if err := run(env.Command(ctx, "-m", "kubernetes_validate", "--strict", "--no-warn", rendered)); err != nil {
		return err
	}
	fmt.Println("the manifests are as the schemas of Kubernetes " + kubernetesValidate + " want them")
	return nil
}
