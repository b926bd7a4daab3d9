package build_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// module writes a module with these files and makes it the working directory.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	t.Chdir(golden.Files(t, files))
}

const hello = "package main\n\nfunc main() { println(\"hello\") }\n"

func TestBuild(t *testing.T) {
	// Variables of a shell that deploys to Lambda must have no effect.
	t.Setenv("GOOS", "plan9")
	t.Setenv("GOARCH", "arm")
	for _, arg := range []string{"cmd/f", "./cmd/f", "example.com/m/cmd/f", "cmd/f/main.go"} {
		t.Run(arg, func(t *testing.T) {
			module(t, map[string]string{"cmd/f/main.go": hello})
			p, err := (build.Go{}).Find(t.Context(), arg)
			golden.OK(t, err)
			binary, err := (build.Go{}).Build(t.Context(), p, t.TempDir())
			golden.OK(t, err)
			out, err := exec.CommandContext(t.Context(), binary).CombinedOutput()
			if err != nil || string(out) != "hello\n" {
				t.Errorf("it printed %q, %v", out, err)
			}
		})
	}
}

// TestNoFunction: an argument that is not a main package is refused before the build.
func TestNoFunction(t *testing.T) {
	module(t, map[string]string{
		"lib/lib.go": "package lib\n", "cmd/f/main.go": hello, "empty/README": "", "nothing/main.go": "",
		"syntax/main.go": "package main\n\nfunc main() {\n",
	})
	for arg, want := range map[string]string{
		"lib":               "lib is package lib; a Lambda function is a package main",
		"./...":             "give the one that has the function's main",
		"empty":             "there is no Go package empty; give the directory or import path of the function's main package. Go says: no Go files",
		"./nowhere":         "there is no Go package ./nowhere; give the directory or import path",
		"nowhere":           "there is no Go package nowhere; give the directory or import path",
		"example.com/other": "there is no Go package example.com/other; give the directory or import path",
		"nothing":           "nothing does not build",
	} {
		_, err := (build.Go{}).Find(t.Context(), arg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", arg, err, want)
		}
	}
}

// TestCompilersWords: the error has the compiler's text, with file names relative to the
// working directory.
func TestCompilersWords(t *testing.T) {
	module(t, map[string]string{"cmd/f/main.go": "package main\n\nfunc main() { x := 1 }\n"})
	p, err := (build.Go{}).Find(t.Context(), "cmd/f")
	golden.OK(t, err)
	_, err = (build.Go{}).Build(t.Context(), p, t.TempDir())
	if _, ok := errors.AsType[*build.Error](err); !ok || !strings.Contains(err.Error(), filepath.Join("cmd", "f", "main.go")+":3:15: declared and not used: x") {
		t.Errorf("error %v", err)
	}
}

// A package with cgo is built without it, as for a deployment. If no package has cgo, the
// compiled packages of `go build` serve.
func TestBuild_Cgo(t *testing.T) {
	t.Setenv("CGO_ENABLED", "1") // the default if there is a C compiler
	const main = "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/m/lib\"\n)\n\n//go:embed files/a.txt\nvar text string\n\nfunc main() { println(lib.How) }\n"
	for _, c := range []struct{ with, without, how string }{
		{"package lib\n\nimport \"C\"\n\nconst How = \"with\"\n", "//go:build !cgo\n\npackage lib\n\nconst How = \"without\"\n", "without"},
		{"//go:build cgo\n\npackage lib\n\nconst How = \"with\"\n", "package lib\n", "with"},
	} {
		module(t, map[string]string{"main.go": main, "files/a.txt": "text", "lib/with.go": c.with, "lib/without.go": c.without})
		p, err := (build.Go{}).Find(t.Context(), ".")
		golden.OK(t, err)
		binary, err := (build.Go{}).Build(t.Context(), p, t.TempDir())
		golden.OK(t, err)
		if len(p.Dirs) != 3 || filepath.Base(p.Dirs[0]) != "lib" || p.Dirs[1] != p.Dir || filepath.Base(p.Dirs[2]) != "files" ||
			len(p.Embedded) != 1 || p.Embedded[0] != filepath.Join(p.Dirs[2], "a.txt") {
			t.Errorf("its packages are in %q, and embed %q", p.Dirs, p.Embedded)
		}
		if out, err := exec.CommandContext(t.Context(), binary).CombinedOutput(); err != nil || string(out) != c.how+"\n" {
			t.Errorf("it printed %q, %v; want %s", out, err, c.how)
		}
	}
}

func TestBuildIsCancelled(t *testing.T) {
	module(t, map[string]string{"main.go": hello})
	p, err := (build.Go{}).Find(t.Context(), ".")
	golden.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (build.Go{}).Build(ctx, p, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNoGoCommand(t *testing.T) {
	module(t, map[string]string{"main.go": hello})
	t.Setenv("PATH", t.TempDir())
	if _, err := (build.Go{}).Find(t.Context(), "."); !errors.Is(err, build.ErrNoGo) {
		t.Errorf("error %v", err)
	}
}
