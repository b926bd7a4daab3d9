package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// render does what `kubectl kustomize` does.
func render(dir string) (resmap.ResMap, error) {
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
}

// checkPods holds the pods against the strictest of the Pod Security Standards.
// Decoding them is strict, too: a field that Kubernetes does not know is an error.
func checkPods(all resmap.ResMap) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	pods := 0
	for _, r := range all.Resources() {
		if r.GetKind() != "Deployment" {
			continue
		}
		pods++
		text, err := r.AsYAML()
		if err != nil {
			return err
		}
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			return fmt.Errorf("Deployment %s: %w", r.GetName(), err)
		}
		verdict := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &d.Spec.Template.ObjectMeta, &d.Spec.Template.Spec))
		if !verdict.Allowed {
			return fmt.Errorf("Deployment %s is not restricted: %s", r.GetName(), strings.Join(verdict.ForbiddenReasons, "; ")+": "+verdict.ForbiddenDetail())
		}
	}
	if pods == 0 {
		return fmt.Errorf("there is no Deployment")
	}
	return nil
}
