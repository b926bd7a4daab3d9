// Command upstream checks deploy with the code of the tools that read it: BuildKit's Dockerfile
// linter, Kustomize, Kubernetes' pod security admission, KEDA's schemas. It is a module of its
// own, so that users of sqsbatch do not require these; test/compat runs it.
//
//	go run . -root ../../.. -rendered FILE
//
// FILE gets what Kustomize makes of deploy/kubernetes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../../..", "the repository")
	rendered := flag.String("rendered", os.DevNull, "where to write the manifests")
	flag.Parse()
	if err := check(context.Background(), *root, *rendered); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(ctx context.Context, root, rendered string) error {
	for _, name := range []string{"Dockerfile", "cmd/sqsbatch/Dockerfile"} {
		if err := lintDockerfile(ctx, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%s: BuildKit's linter finds nothing\n", name)
	}

	all, err := render(filepath.Join(root, "deploy", "kubernetes"))
	if err != nil {
		return fmt.Errorf("deploy/kubernetes: %w", err)
	}
	fmt.Printf("deploy/kubernetes: Kustomize makes %d objects of it\n", all.Size())
	text, err := all.AsYaml()
	if err != nil {
		return err
	}
	if err := os.WriteFile(rendered, text, 0o644); err != nil {
		return err
	}
	if err := checkPods(all); err != nil {
		return fmt.Errorf("deploy/kubernetes: %w", err)
	}
	fmt.Println("deploy/kubernetes: admitted where Pod Security is restricted")
	return checkKEDA(ctx, all)
}
