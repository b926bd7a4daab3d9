package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// An input is a template file that is checked.
type input struct {
	path      string
	stack     string // the name by which `cdk deploy` knows it, "" outside a cloud assembly
	generated bool   // a tool writes the file anew, so that a fix would be lost
}

// inputs finds the templates that the arguments mean, each file once.
func inputs(args []string) ([]input, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var all []input
	for _, arg := range args {
		found, err := inputsOf(arg)
		if err != nil {
			return nil, err
		}
		for _, in := range found {
			if !slices.ContainsFunc(all, func(other input) bool { return other.path == in.path }) {
				all = append(all, in)
			}
		}
	}
	return all, nil
}

func inputsOf(arg string) ([]input, error) {
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no %s; it must be a template, a directory with one, or the cdk.out of the CDK", arg)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return []input{{path: filepath.Clean(arg), generated: isGenerated(arg)}}, nil
	}
	if path, err := template.Find(arg); err == nil {
		return []input{{path: path, generated: isGenerated(path)}}, nil
	}
	for _, dir := range []string{arg, filepath.Join(arg, "cdk.out")} {
		found, err := assembly(dir)
		if len(found) > 0 || err != nil {
			return found, err
		}
	}
	return nil, fmt.Errorf("%s has no template: neither %s nor a file *.template.json of the CDK (`cdk synth` writes them to cdk.out)", arg, strings.Join(template.Names, ", "))
}

// isGenerated recognizes the files of the CDK and of `sam build`.
func isGenerated(path string) bool {
	if strings.HasSuffix(path, ".template.json") {
		return true
	}
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	parts := strings.Split(filepath.ToSlash(filepath.Dir(full)), "/")
	return slices.Contains(parts, ".aws-sam") || slices.Contains(parts, "cdk.out")
}

// assembly lists the stacks of a cloud assembly by their ids, each before its nested
// stacks, or without a manifest all files *.template.json.
func assembly(dir string) (found []input, err error) {
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); errors.Is(err, os.ErrNotExist) {
		return templatesIn(dir), nil
	}
	err = addAssembly(&found, dir, 0)
	return found, err
}

// templatesIn lists the files *.template.json of a directory. There may be no such directory.
func templatesIn(dir string) (found []input) {
	entries, _ := os.ReadDir(dir) // what cannot be read has no template
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".template.json") && !e.IsDir() {
			found = append(found, input{path: filepath.Join(dir, e.Name()), generated: true})
		}
	}
	return found
}

// A manifest is what matters here of the CDK's manifest.json (its "Cloud assembly schema").
type manifest struct {
	Artifacts map[string]struct {
		Type        string `json:"type"`
		DisplayName string `json:"displayName"`
		Properties  struct {
			TemplateFile  string `json:"templateFile"`
			DirectoryName string `json:"directoryName"`
		} `json:"properties"`
	} `json:"artifacts"`
}

// maxAssemblies bounds how deep assemblies (of CDK stages) and nested stacks go.
const maxAssemblies = 10

func addAssembly(found *[]input, dir string, depth int) error {
	path := filepath.Join(dir, "manifest.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if depth > maxAssemblies {
		return fmt.Errorf("%s: more than %d assemblies are nested", path, maxAssemblies)
	}
	for _, id := range slices.Sorted(maps.Keys(m.Artifacts)) {
		switch a := m.Artifacts[id]; a.Type {
		case "aws:cloudformation:stack":
			addStack(found, dir, a.Properties.TemplateFile, cmp.Or(a.DisplayName, id), 0)
		case "cdk:cloud-assembly":
			if err := addAssembly(found, filepath.Join(dir, filepath.FromSlash(a.Properties.DirectoryName)), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// addStack adds a template and those of its nested stacks, whose files the CDK names in
// the metadata aws:asset:path.
func addStack(found *[]input, dir, file, name string, depth int) {
	if file == "" || depth > maxAssemblies {
		return
	}
	path := filepath.Join(dir, filepath.FromSlash(file))
	if slices.ContainsFunc(*found, func(in input) bool { return in.path == path }) {
		return
	}
	*found = append(*found, input{path: path, stack: name, generated: true})
	data, err := os.ReadFile(path)
	if err != nil {
		return // the check reports it
	}
	var t struct {
		Resources map[string]struct {
			Type     string
			Metadata map[string]any
		}
	}
	if json.Unmarshal(data, &t) != nil {
		return // the check reports it
	}
	var below []string
	for _, r := range t.Resources {
		if file, ok := r.Metadata["aws:asset:path"].(string); ok && r.Type == "AWS::CloudFormation::Stack" {
			below = append(below, file)
		}
	}
	slices.Sort(below)
	for _, file := range below {
		addStack(found, dir, file, name+"/"+strings.TrimSuffix(file, ".nested.template.json"), depth+1)
	}
}
