package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// thirdParty is the file with the licences of what is in the binary.
const thirdParty = "THIRD_PARTY.txt"

const tool = "github.com/sqsbatch/sqsbatch/cmd/sqsbatch"

// uPlot is the folder with the script that is in the pages of sqsbatch simulate.
const uPlot = "cmd/sqsbatch/internal/simulate/page/uplot"

// A listed package is what go list says of one.
type listed struct {
	ImportPath, Dir string
	Module          *struct {
		Path, Version, Dir string
		Main               bool
	}
	Deps []string
}

// list asks go list for packages and all that they import, by their import paths.
func list(t target, args ...string) (packages map[string]listed, err error) {
	defer must.Return(&err)
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Module,Deps"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0"), os.Stderr
	packages = map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(must.Get(cmd.Output()))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages[p.ImportPath] = p
	}
}

// licensed is a module and the files that have to go with copies of it.
type licensed struct {
	version, dir string
	files        map[string]bool // paths in the module
}

var isLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// modules are those of the packages, by path, except the module that they are listed from. Code from elsewhere may have
// a licence in its own folder, so the files are those next to the packages and in all folders above.
func modules(packages map[string]listed) (_ map[string]licensed, err error) {
	defer must.Return(&err)
	all := map[string]licensed{}
	for _, p := range packages {
		if p.Module == nil || p.Module.Main {
			continue
		}
		m, ok := all[p.Module.Path]
		if !ok {
			m = licensed{p.Module.Version, p.Module.Dir, map[string]bool{}}
			all[p.Module.Path] = m
		}
		for dir := p.Dir; len(dir) >= len(m.dir); dir = filepath.Dir(dir) {
			for _, f := range must.Get(os.ReadDir(dir)) {
				if f.Type().IsRegular() && isLicence.MatchString(f.Name()) && filepath.Ext(f.Name()) != ".go" {
					m.files[must.Get(filepath.Rel(m.dir, filepath.Join(dir, f.Name())))] = true
				}
			}
		}
	}
	return all, nil
}

// thirdPartyText returns the licences of Go and of each module whose packages are in the tool on any
// of the platforms.
func thirdPartyText() (text []byte, err error) {
	defer must.Return(&err)
	packages := map[string]listed{}
	for _, t := range targets {
		maps.Copy(packages, must.Get(list(t, tool)))
	}
	all := must.Get(modules(packages))
	root := strings.TrimSpace(string(must.Get(exec.Command("go", "env", "GOROOT").Output())))
	var out bytes.Buffer
	fmt.Fprintf(&out, "The program sqsbatch contains the following software, under the licences below.\n")
	add := func(path string, m licensed) {
		for _, name := range slices.Sorted(maps.Keys(m.files)) {
			text := must.Get(os.ReadFile(filepath.Join(m.dir, name)))
			fmt.Fprintf(&out, "\n%s\n%s %s, %s\n%[1]s\n\n%[5]s\n", strings.Repeat("=", 72), path, m.version, filepath.ToSlash(name), bytes.TrimSpace(text))
		}
	}
	add("Go", licensed{runtime.Version(), root, map[string]bool{"LICENSE": true, "PATENTS": true}})
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(must.Get(all[path].terms()), testsOnly) {
			return nil, fmt.Errorf("%s is in the tool, but %s is for tests only", path, testsOnly)
		}
		add(path, all[path])
	}
	add("uPlot", licensed{"1.6.32", filepath.Join(packages[tool].Module.Dir, uPlot), map[string]bool{"LICENSE": true}})
	return out.Bytes(), nil
}

// allowed are the licences that a dependency may have, with what their texts say and others do not. Each allows any use if
// its text goes with copies. These few lines serve instead of a tool such as go-licenses, which adds little: it knows hundreds of
// licences more, which are refused here as well until someone has read them.
var allowed = []struct{ name, says string }{
	{"Apache-2.0", `apache license version 2 0`},
	{"BSD-2-Clause", `redistributions in binary form must reproduce the above copyright`},
	{"BSD-3-Clause", `may be used to endorse or promote products derived from this software without specific prior`},
	{"ISC", `permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted`},
	{"MIT", `in all copies or substantial portions of the software`},
	{"MIT-0", `mit no attribution permission is hereby granted free of charge`},
	{"public domain", `dedicated to the public domain by the authors`}, // SQLite
	{"Unlicense", `this is free and unencumbered software released into the public domain`},
	{testsOnly, `mozilla public license version 2 0 1 definitions`},
}

// testsOnly is the licence that only what no one links may have: changed files must be published.
const testsOnly = "MPL-2.0"

// refused finds licences that ask for more, also those that are next to an allowed one.
var refused = regexp.MustCompile(`gnu (lesser |library |affero )?general public|eclipse public|common development and distribution|` +
	`creative commons|server side public|business source|elastic license|commons clause|polyform|all advertising materials`)

var notWords = regexp.MustCompile(`[^a-z0-9]+`)

// termsOf returns the names of the licences in a text.
func termsOf(text string) (names []string, err error) {
	text = notWords.ReplaceAllString(strings.ToLower(text), " ")
	for _, a := range allowed {
		if strings.Contains(text, a.says) {
			names = append(names, a.name)
		}
	}
	if found := refused.FindString(text); found != "" && !slices.Contains(names, testsOnly) { // which names others
		return nil, fmt.Errorf("its licence says %q, which is not allowed", found)
	}
	if slices.Contains(names, "BSD-3-Clause") { // it says what the shorter one says
		names = slices.DeleteFunc(names, func(n string) bool { return n == "BSD-2-Clause" })
	}
	if len(names) == 0 {
		return nil, errors.New("its licence is not known: read it, and add it to test/release/licences.go if it is allowed")
	}
	return names, nil
}

var notOfCode = regexp.MustCompile(`(?i)^(notice|patents)|[.-](docs|logo)$`)

// terms returns the names of the licences in a module.
func (m licensed) terms() (names []string, err error) {
	defer must.Return(&err)
	for name := range m.files {
		if notOfCode.MatchString(filepath.Base(name)) {
			continue
		}
		found, err := termsOf(string(must.Get(os.ReadFile(filepath.Join(m.dir, name)))))
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, m.dir, err)
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no licence", m.dir)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// printLicences prints the licences of all modules that the module in this folder uses, its tests included.
func printLicences() (err error) {
	defer must.Return(&err)
	all := must.Get(modules(must.Get(list(target{runtime.GOOS, runtime.GOARCH}, "-test", "./..."))))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		fmt.Println(path, strings.Join(must.Get(all[path].terms()), ", "))
	}
	return nil
}
