package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const root = "../.."

// goreleaser is what the tests read of .goreleaser.yaml.
type goreleaser struct {
	Builds []struct {
		GOOS, GOARCH, Flags, LDFlags, Env []string
	}
	Archives []struct {
		NameTemplate string `yaml:"name_template"`
		Formats      []string
		Overrides    []struct {
			GOOS    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []struct{ Src string }
	}
	SBOMs    []struct{ Documents []string }
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
	Casks []struct {
		Completions map[string]string
		Manpages    []string
	} `yaml:"homebrew_casks"`
}

func readYAML(t *testing.T, path string, to any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, path)), to); err != nil {
		t.Fatal(path, err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return docpage.Read(t, filepath.Join(root, path))
}

// files are the names that goreleaser gives the files of a release.
func (g goreleaser) files(t *testing.T, version string) (names []string) {
	t.Helper()
	archive := g.Archives[0]
	for _, system := range g.Builds[0].GOOS {
		for _, arch := range g.Builds[0].GOARCH {
			format := archive.Formats[0]
			for _, o := range archive.Overrides {
				if o.GOOS == system {
					format = o.Formats[0]
				}
			}
			names = append(names,
				expand(t, archive.NameTemplate, version, system, arch)+"."+format,
				expand(t, g.SBOMs[0].Documents[0], version, system, arch))
		}
	}
	return append(names, g.Checksum.NameTemplate)
}

func expand(t *testing.T, text, version, system, arch string) string {
	t.Helper()
	parsed, err := template.New("").Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, map[string]string{"ProjectName": "sqsbatch", "Version": version, "Os": system, "Arch": arch}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoreleaser_NamesTheSameFiles(t *testing.T) {
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	d := distribution{Version: "1.2.3"}
	own := []string{"checksums.txt"}
	for _, target := range targets {
		own = append(own, d.archive(target), d.sbom(target))
	}
	theirs := config.files(t, d.Version)
	slices.Sort(own)
	slices.Sort(theirs)
	if !slices.Equal(own, theirs) {
		t.Errorf("without goreleaser there are\n%q\nwith it\n%q", own, theirs)
	}
}

// The archive for this machine's platform. Its binary is built by the default flags, whose
// packages the other tests have built already. `.ci/run goreleaser` makes the real ones, for
// all platforms, twice.
func TestArchive_RunsAndIsComplete(t *testing.T) {
	platform := target{runtime.GOOS, runtime.GOARCH}
	d := makeRelease(t, platform)
	sums := docpage.Read(t, filepath.Join(d.Out, "checksums.txt"))
	for _, name := range []string{d.archive(platform), d.sbom(platform)} {
		sum, err := sha256File(filepath.Join(d.Out, name))
		if err != nil {
			t.Fatal(err)
		}
		if line := sum + "  " + name + "\n"; !strings.Contains(sums, line) {
			t.Errorf("checksums.txt has no line %q:\n%s", line, sums)
		}
	}

	dir := t.TempDir()
	names := extract(t, filepath.Join(d.Out, d.archive(platform)), dir)
	want := append([]string{"LICENSE", "README.md", program(platform.OS)}, d.DocFiles...)
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
	out, err := exec.Command(filepath.Join(dir, program(platform.OS)), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "sqsbatch ") {
		t.Errorf("sqsbatch version: %v: %s", err, out)
	}
	checkSBOM(t, d, platform)
}

func makeRelease(t *testing.T, platform target) distribution {
	t.Helper()
	out := t.TempDir()
	d := distribution{
		Root: root, Out: out, Version: "1.2.3", Docs: filepath.Join(out, "docs"),
		Time: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
	}
	binary := filepath.Join(out, "binary", program(platform.OS))
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/sqsbatch")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	err := must.Run(func() {
		d.DocFiles = docsBy(binary, d.Docs, d.Time)
		must.Do(d.pack(platform, binary))
		must.Do(writeChecksums(out))
	})
	if err != nil {
		t.Fatal(err)
	}
	caskNamesDocs(t, d.DocFiles)
	return d
}

// caskNamesDocs holds the cask to the files that there are, as soon as there are any:
// Homebrew refuses a cask that names others.
func caskNamesDocs(t *testing.T, docs []string) {
	t.Helper()
	if len(docs) == 0 {
		return
	}
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	names := slices.Clone(config.Casks[0].Manpages)
	for _, name := range config.Casks[0].Completions {
		names = append(names, name)
	}
	for _, name := range names {
		if !slices.Contains(docs, name) {
			t.Errorf("the Homebrew cask names %s; the archive has %q", name, docs)
		}
	}
}

func checkSBOM(t *testing.T, d distribution, platform target) {
	t.Helper()
	var list bom
	if err := json.Unmarshal([]byte(docpage.Read(t, filepath.Join(d.Out, d.sbom(platform)))), &list); err != nil {
		t.Fatal(err)
	}
	if got := list.Metadata.Component.Name; got != "github.com/sqsbatch/sqsbatch" {
		t.Errorf("the SBOM is of %q", got)
	}
	sqs := slices.IndexFunc(list.Components, func(c component) bool {
		return c.Name == "github.com/aws/aws-sdk-go-v2/service/sqs"
	})
	if sqs < 0 {
		t.Fatalf("the SBOM does not have the SDK: %+v", list.Components)
	}
	c := list.Components[sqs]
	if !strings.Contains(readFile(t, "go.mod"), c.Name+" "+c.Version+"\n") || len(c.Hashes) != 1 || c.PURL != "pkg:golang/"+c.Name+"@"+c.Version {
		t.Errorf("the SBOM says %+v", c)
	}
}

// extract unpacks an archive and returns the names of its files.
func extract(t *testing.T, archive, dir string) (names []string) {
	t.Helper()
	for name, content := range members(t, archive) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// members are the files of an archive.
func members(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	text := docpage.Read(t, archive)
	if strings.HasSuffix(archive, ".zip") {
		z, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			content, err := fs.ReadFile(z, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = content
		}
		return files
	}
	plain, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		content, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[header.Name] = content
	}
}

func TestArchive_IsReproducible(t *testing.T) {
	dir, when := t.TempDir(), time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	files := []member{{Name: "docs/LICENSE", Path: filepath.Join(root, "LICENSE"), Mode: 0o644}}
	for _, format := range []string{".zip", ".tar.gz"} {
		once, again := filepath.Join(dir, "once"+format), filepath.Join(dir, "again"+format)
		for _, path := range []string{once, again} {
			if err := writeArchive(path, files, when); err != nil {
				t.Fatal(err)
			}
		}
		if docpage.Read(t, once) != docpage.Read(t, again) {
			t.Errorf("%s: the same files gave two archives", format)
		}
		if got := members(t, once); len(got) != 1 || string(got["docs/LICENSE"]) != readFile(t, "LICENSE") {
			t.Errorf("%s: the archive has %d files", format, len(got))
		}
	}
}

func TestNotes_AreTheSectionOfTheVersion(t *testing.T) {
	const log = "# Changelog\n\n## [Unreleased]\n\n## [1.1.0]\n\n### Added\n\n- b\n\n## [1.0.0]\n\n- a\n"
	for tag, want := range map[string]string{"v1.1.0": "### Added\n\n- b\n", "v1.0.0": "- a\n"} {
		if got, err := notes(log, tag); got != want || err != nil {
			t.Errorf("%s: %q, %v", tag, got, err)
		}
	}
	for _, tag := range []string{"v2.0.0", "v1.1"} {
		if got, err := notes(log, tag); err == nil {
			t.Errorf("%s: no error, but %q", tag, got)
		}
	}
}

// The release that the starter requires has notes.
func TestNotes_OfTheFirstReleaseAreWritten(t *testing.T) {
	if _, err := notes(readFile(t, "CHANGELOG.md"), "v0.1.0"); err != nil {
		t.Error(err)
	}
}

// Each file of a release is attested, by the identity of its workflow.
func TestWorkflow_AttestsFilesAndImage(t *testing.T) {
	var w struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct {
				Uses string
				With map[string]string
			}
		}
	}
	readYAML(t, ".github/workflows/release.yml", &w)
	job := w.Jobs["release"]
	if job.Permissions["id-token"] != "write" || job.Permissions["attestations"] != "write" {
		t.Errorf("permissions: %v", job.Permissions)
	}
	released, subjects := false, ""
	for _, s := range job.Steps {
		released = released || strings.HasPrefix(s.Uses, "goreleaser/")
		if strings.HasPrefix(s.Uses, "actions/attest-build-provenance@") && released {
			subjects += s.With["subject-checksums"] + " " + s.With["subject-name"] + " "
		}
	}
	if !strings.Contains(subjects, "dist/checksums.txt") || !strings.Contains(subjects, "ghcr.io/sqsbatch/sqsbatch") {
		t.Errorf("attested: %s", subjects)
	}
}
