package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// A linked module is what go list says of one.
type linked struct {
	Path, Version, Dir string
	Main               bool
}

// isLicence finds the files of a module that have to go with copies of it.
var isLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// licences returns the licences of Go and of each module whose packages are in a command on any
// of the platforms. A module without one is an error.
func licences(command string) (text []byte, err error) {
	defer must.Return(&err)
	modules := map[string]linked{}
	for _, t := range targets {
		list := exec.Command("go", "list", "-deps", "-json=Module", command)
		list.Env, list.Stderr = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0"), os.Stderr
		for d := json.NewDecoder(bytes.NewReader(must.Get(list.Output()))); ; {
			var p struct{ Module *linked }
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module != nil && !p.Module.Main {
				modules[p.Module.Path] = *p.Module
			}
		}
	}
	root := must.Get(exec.Command("go", "env", "GOROOT").Output())
	all := []linked{{Path: "Go", Version: runtime.Version(), Dir: strings.TrimSpace(string(root))}}
	for _, m := range modules {
		all = append(all, m)
	}
	slices.SortFunc(all[1:], func(a, b linked) int { return cmp.Compare(a.Path, b.Path) })
	var out bytes.Buffer
	fmt.Fprintf(&out, "The program sqsbatch contains the following software, under the licences below.\n")
	for _, m := range all {
		found := false
		for _, f := range must.Get(os.ReadDir(m.Dir)) {
			if !f.Type().IsRegular() || !isLicence.MatchString(f.Name()) {
				continue
			}
			found = true
			text := must.Get(os.ReadFile(filepath.Join(m.Dir, f.Name())))
			fmt.Fprintf(&out, "\n%s\n%s %s, %s\n%[1]s\n\n%[5]s\n", strings.Repeat("=", 72), m.Path, m.Version, f.Name(), bytes.TrimSpace(text))
		}
		if !found {
			return nil, fmt.Errorf("module %s %s has no licence in %s", m.Path, m.Version, m.Dir)
		}
	}
	return out.Bytes(), nil
}
