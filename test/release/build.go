package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

type target struct{ OS, Arch string }

func (t target) String() string { return t.OS + "/" + t.Arch }

// targets are the platforms of .goreleaser.yaml; a test compares them.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// program is the name of the tool's binary.
func program(system string) string {
	if system == "windows" {
		return "sqsbatch.exe"
	}
	return "sqsbatch"
}

// distribution is a release that is being made.
type distribution struct {
	Root     string // the working tree
	Out      string
	Version  string // of the files' names
	Time     time.Time
	Docs     string // the folder that DocFiles are relative to
	DocFiles []string
}

// base is the name of an archive and of an SBOM, up to the extension.
func (d distribution) base(t target) string {
	return fmt.Sprintf("sqsbatch_%s_%s_%s", d.Version, t.OS, t.Arch)
}

func (d distribution) archive(t target) string {
	if t.OS == "windows" {
		return d.base(t) + ".zip"
	}
	return d.base(t) + ".tar.gz"
}

func (d distribution) sbom(t target) string { return d.base(t) + ".cdx.json" }

// add writes the binary, the archive and the SBOM of a platform. The binary is in a
// folder of its own, since its name is that of the others.
func (d distribution) add(t target) (err error) {
	defer must.Return(&err)
	binary := must.Get(filepath.Abs(filepath.Join(d.Out, t.OS+"_"+t.Arch, program(t.OS))))
	must.Do(build(d.Root, t, binary))
	return d.pack(t, binary)
}

// pack writes the archive and the SBOM of a binary.
func (d distribution) pack(t target, binary string) error {
	if err := writeSBOM(binary, filepath.Join(d.Out, d.sbom(t))); err != nil {
		return err
	}
	files := []member{
		{Name: program(t.OS), Path: binary, Mode: 0o755},
		{Name: "LICENSE", Path: filepath.Join(d.Root, "LICENSE"), Mode: 0o644},
		{Name: "README.md", Path: filepath.Join(d.Root, "README.md"), Mode: 0o644},
	}
	for _, doc := range d.DocFiles {
		files = append(files, member{Name: doc, Path: filepath.Join(d.Docs, doc), Mode: 0o644})
	}
	return writeArchive(filepath.Join(d.Out, d.archive(t)), files, d.Time)
}

// build compiles the tool as .goreleaser.yaml does. The binary says its version by
// what Go itself notes: the tag, or the commit. With -buildvcs=auto a source without
// git can be built, too.
func build(root string, t target, binary string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", binary, "./cmd/sqsbatch")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// writeChecksums writes checksums.txt, in the form of sha256sum, for the archives and
// SBOMs of a folder.
func writeChecksums(dir string) (err error) {
	defer must.Return(&err)
	entries := must.Get(os.ReadDir(dir))
	var lines []string
	for _, e := range entries {
		if e.IsDir() || e.Name() == "checksums.txt" {
			continue
		}
		sum := must.Get(sha256File(filepath.Join(dir, e.Name())))
		lines = append(lines, fmt.Sprintf("%s  %s\n", sum, e.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(strings.Join(lines, "")), 0o644)
}

func sha256File(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}

// shells have a completion in the archives and the Homebrew cask.
var shells = []string{"bash", "zsh", "fish"}

// writeDocs writes the completions and man pages that the tool makes of itself, below
// dir, and returns their paths from there, sorted. The day in the man pages is that of
// the commit.
func writeDocs(root, dir string, when time.Time) (_ []string, err error) {
	defer must.Return(&err)
	dir = must.Get(filepath.Abs(dir))
	scratch := must.Get(os.MkdirTemp("", "sqsbatch"))
	defer os.RemoveAll(scratch)
	tool := filepath.Join(scratch, program(runtime.GOOS))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", tool, "./cmd/sqsbatch")
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	must.Do(build.Run())
	return docsBy(tool, dir, when), nil
}

// docsBy has a built tool write them.
func docsBy(tool, dir string, when time.Time) []string {
	for _, sub := range []string{"completions", "man"} {
		must.Do(os.RemoveAll(filepath.Join(dir, sub)))
		must.Do(os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	for _, shell := range shells {
		script := must.Get(ask(tool, when, "completion", shell))
		must.Do(os.WriteFile(filepath.Join(dir, "completions", "sqsbatch."+shell), script, 0o644))
	}
	must.Get(ask(tool, when, "man", filepath.Join(dir, "man")))
	must.Do(os.WriteFile(filepath.Join(dir, thirdParty), must.Get(thirdPartyText()), 0o644))
	here := os.DirFS(dir)
	return slices.Concat([]string{thirdParty}, must.Get(fs.Glob(here, "completions/*")), must.Get(fs.Glob(here, "man/*")))
}

// ask runs the tool and returns its standard output.
func ask(tool string, when time.Time, args ...string) ([]byte, error) {
	cmd := exec.Command(tool, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", when.Unix()))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sqsbatch %s: %w: %s", args[0], err, stderr.Bytes())
	}
	return out, nil
}
