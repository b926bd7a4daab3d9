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

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// An input is a template file that is checked.
type input struct {
	path      string // "-" for standard input
	stack     string // the name by which `cdk deploy` knows it, "" outside a cloud assembly
	generated bool   // a tool writes the file anew, so that a fix would be lost
	device    bool   // it is not a regular file, so that it cannot be replaced
}

// stdin is the argument that means standard input.
const stdin = "-"

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

// name is how lines begin that are for people: in one line, and no command in a workflow of GitHub.
func (in input) name() string {
	if strings.HasPrefix(in.path, "::") {
		return "./" + show.Clean(in.path)
	}
	return show.Clean(in.path)
}

func inputsOf(arg string) ([]input, error) {
	if arg == stdin {
		return []input{{path: stdin}}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no %s; it must be a template, a directory with one, or the cdk.out of the CDK", show.Clean(arg))
	case err != nil:
		return nil, err
	case !info.IsDir():
		path := filepath.Clean(arg)
		if path == stdin {
			path = arg // ./-
		}
		return []input{{path: path, generated: isGenerated(arg), device: !info.Mode().IsRegular()}}, nil
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
	return nil, fmt.Errorf("%s has no template: neither %s nor a file *.template.json of the CDK (`cdk synth` writes them to cdk.out)", show.Clean(arg), strings.Join(template.Names, ", "))
}

// isGenerated recognizes the files of the CDK and of `sam build` by their places. See
// template.OfCDK for those that lie elsewhere.
func isGenerated(path string) bool {
	if strings.HasSuffix(path, ".template.json") {
		return true
	}
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	parts := strings.Split(filepath.ToSlash(filepath.Dir(full)), "/")
	return slices.Contains(parts, ".aws-sam") || slices.Contains(parts, "cdk.out") || isArtifact(full)
}

// isArtifact reports whether a cloud assembly's manifest.json next to a file names it.
func isArtifact(path string) bool {
	m, err := readManifest(filepath.Join(filepath.Dir(path), "manifest.json"))
	if err != nil {
		return false // it may be of something else
	}
	for _, a := range m.Artifacts {
		if a.Type == stackArtifact && a.Properties.TemplateFile == filepath.Base(path) {
			return true
		}
	}
	return false
}

// assembly lists the stacks of a cloud assembly by their ids, each before its nested
// stacks, or without a manifest all files *.template.json.
func assembly(dir string) (found []input, err error) {
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); errors.Is(err, os.ErrNotExist) {
		return templatesIn(dir), nil
	}
	a := assemblyReader{root: dir}
	err = a.add(dir, 0)
	return a.found, err
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

// stackArtifact is the type of artifacts that are templates.
const stackArtifact = "aws:cloudformation:stack"

func readManifest(path string) (m manifest, err error) {
	data, err := template.ReadFile(path, maxManifest)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

const (
	// maxAssemblies bounds how deep assemblies (of CDK stages) and nested stacks go.
	maxAssemblies = 10
	// maxManifest bounds a manifest, which has metadata of each construct.
	maxManifest = 64 << 20
)

// An assemblyReader lists the stacks of a cloud assembly.
type assemblyReader struct {
	root  string // its directory. No file outside of it is read
	found []input
}

// inside returns the path of a file or directory that is named in one of the assembly's
// directories. It returns an error for one outside of the assembly, also by a symbolic link.
func (a *assemblyReader) inside(by, dir, name string) (string, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	below, err := filepath.Rel(a.root, path)
	local := err == nil && filepath.IsLocal(below) && !filepath.IsAbs(filepath.FromSlash(name))
	if real, err := filepath.EvalSymlinks(path); local && err == nil { // else it is reported when it is read
		root, err := filepath.EvalSymlinks(a.root)
		if err != nil {
			return "", err
		}
		below, err = filepath.Rel(root, real)
		local = err == nil && filepath.IsLocal(below)
	}
	if !local {
		return "", fmt.Errorf("%s names %s, which is outside of %s; `cdk synth` writes all files of a cloud assembly into one directory", by, name, a.root)
	}
	return path, nil
}

func (a *assemblyReader) add(dir string, depth int) error {
	path, err := a.inside(dir, dir, "manifest.json")
	if err != nil {
		return err
	}
	m, err := readManifest(path)
	if err != nil {
		return err
	}
	if depth > maxAssemblies {
		return fmt.Errorf("%s: more than %d assemblies are nested", path, maxAssemblies)
	}
	for _, id := range slices.Sorted(maps.Keys(m.Artifacts)) {
		switch artifact := m.Artifacts[id]; artifact.Type {
		case stackArtifact:
			err = a.addStack(path, dir, artifact.Properties.TemplateFile, cmp.Or(artifact.DisplayName, id), 0)
		case "cdk:cloud-assembly":
			var below string
			if below, err = a.inside(path, dir, artifact.Properties.DirectoryName); err == nil {
				err = a.add(below, depth+1)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addStack adds a template and those of its nested stacks, whose files the CDK names in
// the metadata aws:asset:path. by is the file that names it.
func (a *assemblyReader) addStack(by, dir, file, name string, depth int) error {
	if file == "" || depth > maxAssemblies {
		return nil
	}
	path, err := a.inside(by, dir, file)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(a.found, func(in input) bool { return in.path == path }) {
		return nil
	}
	a.found = append(a.found, input{path: path, stack: name, generated: true})
	data, err := template.ReadFile(path, template.MaxSize)
	if err != nil {
		return nil // the check reports it
	}
	var t struct {
		Resources map[string]struct {
			Type     string
			Metadata map[string]any
		}
	}
	if json.Unmarshal(data, &t) != nil {
		return nil // the check reports it
	}
	var below []string
	for _, r := range t.Resources {
		if file, ok := r.Metadata["aws:asset:path"].(string); ok && r.Type == "AWS::CloudFormation::Stack" {
			below = append(below, file)
		}
	}
	slices.Sort(below)
	for _, file := range below {
		if err := a.addStack(path, dir, file, name+"/"+strings.TrimSuffix(file, ".nested.template.json"), depth+1); err != nil {
			return err
		}
	}
	return nil
}
