package main

import (
	gobuild "go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workflow is what the tests read of a file in .github/workflows.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Strategy struct {
			Matrix struct {
				Include []struct{ Stages string }
			}
		}
		Steps []struct {
			Uses string
			With map[string]string
		}
	}
}

func ciVariable(t *testing.T, name string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `=\(?([^)#\n]*)`).FindStringSubmatch(readFile(t, ".ci/run"))
	if m == nil {
		t.Fatalf(".ci/run does not set %s", name)
	}
	return strings.Fields(m[1])
}

// A stage that no job runs would never be run for a pull request.
func TestWorkflow_RunsEachStageOnce(t *testing.T) {
	var ci workflow
	readYAML(t, ".github/workflows/ci.yml", &ci)
	var run []string
	for _, group := range ci.Jobs["stages"].Strategy.Matrix.Include {
		run = append(run, strings.Fields(group.Stages)...)
	}
	var stages []string
	for _, list := range []string{"COMPUTING", "FETCHING", "WAITING", "BY_NAME"} {
		stages = append(stages, ciVariable(t, list)...)
	}
	slices.Sort(run)
	slices.Sort(stages)
	if !slices.Equal(run, stages) {
		t.Errorf("ci.yml runs\n%q\n.ci/run has\n%q", run, stages)
	}
}

// The workflows use the versions of Go and goreleaser that .ci/run has, may only read
// unless a job says more, and name actions by commits, which cannot be moved as tags can.
func TestWorkflow_IsPinned(t *testing.T) {
	golang := ciVariable(t, "GO_VERSIONS")[0]
	_, goreleaser, _ := strings.Cut(ciVariable(t, "GORELEASER")[0], "@")
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	for _, name := range []string{"ci.yml", "nightly.yml", "release.yml"} {
		var w workflow
		readYAML(t, ".github/workflows/"+name, &w)
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions are %v, want contents: read", name, w.Permissions)
		}
		for job := range w.Jobs {
			for _, step := range w.Jobs[job].Steps {
				if step.Uses != "" && step.Uses != "./" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: %s is not pinned to a commit", name, step.Uses)
				}
				action, _, _ := strings.Cut(step.Uses, "@")
				want := map[string]struct{ key, version string }{
					"actions/setup-go":             {"go-version", golang},
					"goreleaser/goreleaser-action": {"version", goreleaser},
				}[action]
				if got := step.With[want.key]; got != want.version {
					t.Errorf("%s: %s has %s %q, .ci/run has %q", name, action, want.key, got, want.version)
				}
			}
		}
	}
}

func TestDependabot_KnowsEachModule(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
		}
	}
	readYAML(t, ".github/dependabot.yml", &config)
	modules := []string{}
	for _, dir := range folders(t) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil && !strings.Contains(dir, "{{") {
			modules = append(modules, path.Join("/", dir))
		}
	}
	for _, u := range config.Updates {
		if u.Ecosystem == "gomod" && !slices.Equal(u.Directories, modules) {
			t.Errorf("dependabot.yml has the modules\n%q\nthe repository has\n%q", u.Directories, modules)
		}
	}
}

// pkg.go.dev shows the first sentence of each package in lists and in searches.
func TestPackages_SayWhatTheyAreFor(t *testing.T) {
	checked := 0
	for _, dir := range folders(t) {
		if strings.Contains("/"+dir+"/", "/internal/") || strings.HasPrefix(dir, "test") || strings.HasPrefix(dir, "examples") {
			continue
		}
		p, err := gobuild.ImportDir(filepath.Join(root, dir), gobuild.ImportComment)
		if err != nil || len(p.GoFiles) == 0 {
			continue // no package, or one of tests
		}
		checked++
		if p.Doc == "" {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
	if checked < 20 {
		t.Errorf("found only %d packages", checked)
	}
}

// folders are those of the repository, from its root, sorted.
func folders(t *testing.T) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		list = append(list, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
