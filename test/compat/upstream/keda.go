package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/yaml"
)

// kedaModule has KEDA's resource definitions and what its scalers take. It is
// downloaded, and not required: compiling any of it would take minutes.
const kedaModule = "github.com/kedacore/keda/v2@v2.21.0"

// checkKEDA holds KEDA's objects against its definitions, and the triggers'
// metadata, which those do not cover, against what the scalers take.
func checkKEDA(ctx context.Context, all resmap.ResMap) error {
	dir, err := download(ctx, kedaModule)
	if err != nil {
		return err
	}
	files := map[string]string{"ScaledObject": "keda.sh_scaledobjects.yaml", "TriggerAuthentication": "keda.sh_triggerauthentications.yaml"}
	for kind, file := range files {
		schema, err := definition(filepath.Join(dir, "config", "crd", "bases", file))
		if err != nil {
			return err
		}
		objects := 0
		for _, r := range all.Resources() {
			if r.GetKind() != kind {
				continue
			}
			objects++
			object, err := r.Map()
			if err != nil {
				return err
			}
			if result := validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(object); result.HasErrors() {
				return fmt.Errorf("%s %s: %w", kind, r.GetName(), errors.Join(result.Errors...))
			}
			if err := checkTriggers(filepath.Join(dir, "schema", "generated", "scalers-schema.json"), object); err != nil {
				return fmt.Errorf("%s %s: %w", kind, r.GetName(), err)
			}
		}
		if objects == 0 {
			return fmt.Errorf("there is no %s", kind)
		}
		fmt.Printf("deploy/kubernetes: %d %s as %s defines it\n", objects, kind, kedaModule)
	}
	return nil
}

func download(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module, whose requirements must not matter
	out, err := cmd.Output()
	var m struct{ Dir, Error string }
	if e := json.Unmarshal(out, &m); e != nil || m.Dir == "" {
		return "", fmt.Errorf("download %s: %s %w", module, m.Error, errors.Join(err, e))
	}
	return m.Dir, nil
}

// definition is the schema of the only version of a CustomResourceDefinition,
// made strict: Kubernetes drops a field that it does not know without a word.
func definition(path string) (*spec.Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(crd.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s has %d versions, want one", path, len(crd.Spec.Versions))
	}
	schema := &crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	closeSchema(schema)
	return schema, nil
}

func closeSchema(s *spec.Schema) {
	if open, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields"); len(s.Properties) > 0 && s.AdditionalProperties == nil && !open {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: false}
	}
	for name, p := range s.Properties {
		closeSchema(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		closeSchema(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		closeSchema(s.AdditionalProperties.Schema)
	}
}

// parameter is one of those that a scaler takes.
type parameter struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional"`
	Default  string `json:"default"`
	FromEnv  bool   `json:"envVariableReadable"`
}

func checkTriggers(schema string, object map[string]any) error {
	text, err := os.ReadFile(schema)
	if err != nil {
		return err
	}
	var known struct {
		Scalers []struct {
			Type       string      `json:"type"`
			Parameters []parameter `json:"parameters"`
		} `json:"scalers"`
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	inside, _ := object["spec"].(map[string]any)
	triggers, _ := inside["triggers"].([]any)
	for _, t := range triggers {
		trigger, _ := t.(map[string]any)
		metadata, _ := trigger["metadata"].(map[string]any)
		for _, s := range known.Scalers {
			if s.Type == trigger["type"] {
				if err := checkMetadata(s.Parameters, metadata); err != nil {
					return fmt.Errorf("trigger %s: %w", s.Type, err)
				}
				delete(trigger, "type")
			}
		}
		if name, unknown := trigger["type"]; unknown {
			return fmt.Errorf("KEDA has no trigger %v", name)
		}
	}
	return nil
}

func checkMetadata(parameters []parameter, metadata map[string]any) error {
	var names []string
	for _, p := range parameters {
		names = append(names, p.Name)
		_, given := metadata[p.Name]
		if p.FromEnv {
			names = append(names, p.Name+"FromEnv")
			_, fromEnv := metadata[p.Name+"FromEnv"]
			given = given || fromEnv
		}
		if !given && !p.Optional && p.Default == "" {
			return fmt.Errorf("metadata has no %s", p.Name)
		}
	}
	for name := range metadata {
		if !slices.Contains(names, name) {
			return fmt.Errorf("metadata has %s, known are %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}
