// Package build compiles a Go function for this machine, for `sqsbatch local`.
//
//	var goCommand build.Go
//	pkg, err := goCommand.Find(ctx, "./examples/orders")
//	if err != nil {
//		return err
//	}
//	binary, err := goCommand.Build(ctx, pkg, dir)
//
// It builds with the tags of a deployment, but always for the operating system and processor
// of this machine: it ignores GOOS and GOARCH. It builds without cgo, as for a deployment, if
// that makes a difference: if a package that is not Go's own has cgo. Otherwise cgo is as in
// `go test` and `go run`, so that packages that these have compiled are not compiled again:
// those that import net would be, which takes half a minute.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Package is a Go main package.
type Package struct {
	// ImportPath is the import path, "command-line-arguments" for files.
	ImportPath string
	// Dir is the directory of the files.
	Dir string
	// Files are the names of the Go files, without tests.
	Files []string
	// Dirs are the directories of the packages that it consists of, and of their modules' go.mod,
	// without those of Go and of downloaded modules. Embedded are the files that these embed.
	Dirs, Embedded []string

	workDir, pattern string
	cgo              bool // a package that is not Go's own has cgo
}

// A Builder finds and builds main packages. [Go] is one.
type Builder interface {
	Find(ctx context.Context, arg string) (*Package, error)
	Build(ctx context.Context, p *Package, dir string) (string, error)
}

// Go is a [Builder] that runs the go command.
type Go struct{}

// ErrNoGo is returned when the go command is not in PATH.
var ErrNoGo = errors.New("the go command is not in PATH; it is needed to build the function (https://go.dev/dl)")

// An Error is a failure of the go command. Output is the go command's output.
type Error struct {
	Package string
	Output  string
	Err     error
}

// Error returns the compiler's messages.
func (e *Error) Error() string {
	out := strings.TrimSpace(e.Output)
	if out == "" {
		out = e.Err.Error()
	}
	return fmt.Sprintf("%s does not build:\n%s", e.Package, out)
}

// Unwrap returns Err, the go command's exit.
func (e *Error) Unwrap() error { return e.Err }

// Find returns the main package arg: a directory, an import path or a Go file. It returns
// an error if arg is not exactly one main package.
func (Go) Find(ctx context.Context, arg string) (*Package, error) {
	p := &Package{pattern: arg}
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		p.workDir, p.pattern = arg, "."
	}
	list, messages, err := p.run(ctx, "list", "-e", "-deps", "-f", listed, "-tags", tags, "--", p.pattern)
	if errors.Is(err, ErrNoGo) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Package: arg, Output: messages, Err: err}
	}
	lines := strings.Split(strings.TrimRight(list, "\r\n"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		dirs, local := strings.CutPrefix(line, inDir)
		if local {
			p.addDirs(strings.Split(strings.TrimRight(dirs, "\r"), "\t"))
		}
		cgo := strings.TrimSpace(line) == withCgo
		p.cgo = p.cgo || cgo
		return local || cgo
	})
	if len(lines) > 1 {
		return nil, fmt.Errorf("%s names %d packages; give the one that has the function's main", arg, len(lines))
	}
	fields := strings.Split(lines[0], "\t")
	if len(fields) != 5 {
		return nil, fmt.Errorf("%s is not a Go package; give the directory or import path of the function's main package", arg)
	}
	if name := fields[0]; name != "main" && name != "" {
		return nil, fmt.Errorf("%s is package %s; a Lambda function is a package main", arg, name)
	}
	why, _ := strconv.Unquote(fields[4]) // "" without an error
	switch {
	case why != "" && fields[3] == "": // no Go files
		return nil, fmt.Errorf("there is no Go package %s; give the directory or import path of the function's main package. Go says: %s", arg, why)
	case why != "":
		return nil, &Error{Package: arg, Output: why, Err: errors.New("not a package")}
	}
	if !slices.Contains(p.Dirs, fields[1]) { // of files: they have no module
		p.Dirs = append(p.Dirs, fields[1])
	}
	p.ImportPath, p.Dir, p.Files = fields[2], fields[1], strings.FieldsFunc(fields[3], func(r rune) bool { return r == '/' })
	return p, nil
}

// addDirs adds the directory of a package, its go.mod and its embedded files.
func (p *Package) addDirs(paths []string) {
	add := func(dir string) {
		if !slices.Contains(p.Dirs, dir) {
			p.Dirs = append(p.Dirs, dir)
		}
	}
	add(paths[0])
	if len(paths) > 1 && paths[1] != "" {
		add(filepath.Dir(paths[1]))
	}
	for _, name := range paths[min(2, len(paths)):] {
		path := filepath.Join(paths[0], filepath.FromSlash(name))
		add(filepath.Dir(path))
		p.Embedded = append(p.Embedded, path)
	}
}

const (
	// tags exclude aws-lambda-go's RPC mode, which provided runtimes do not use.
	tags = "lambda.norpc"
	// withCgo is the line of a package that is not Go's own and has cgo.
	withCgo = "cgo"
	// inDir begins the line of a package of Dirs. Its directory, its go.mod and its embedded files
	// follow.
	inDir = "dir\t"
	// listed is the line of a package for Find. Imported packages have none, but for these two.
	listed = `{{if and .CgoFiles (not .Standard)}}` + withCgo + "\n" + `{{end}}` +
		`{{with .Module}}{{if or .Main (and .Replace (not .Replace.Version))}}` + inDir + "{{$.Dir}}\t{{.GoMod}}{{range $.EmbedFiles}}\t{{.}}{{end}}\n" + `{{end}}{{end}}{{if not .DepOnly}}` +
		"{{.Name}}\t{{.Dir}}\t{{.ImportPath}}\t{{join .GoFiles \"/\"}}\t{{with .Error}}{{printf \"%q\" .Err}}{{end}}{{end}}"
)

// waitDelay is how long an interrupted go command may wait for its own children.
const waitDelay = 2 * time.Second

// Build compiles the package into dir and returns the path, or an [*Error].
func (Go) Build(ctx context.Context, p *Package, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "bootstrap")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	_, messages, err := p.run(ctx, "build", "-tags", tags, "-buildvcs=false", "-o", binary, "--", p.pattern)
	if err != nil {
		return "", &Error{Package: p.ImportPath, Output: p.fromHere(messages), Err: err}
	}
	return binary, nil
}

// run runs the go command in the package's directory. Its -tags override GOFLAGS.
func (p *Package) run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return "", "", ErrNoGo
	}
	var out, messages bytes.Buffer
	cmd := exec.CommandContext(ctx, goCommand, args...)
	cmd.Dir = p.workDir
	cmd.Env = append(os.Environ(), "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if p.cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	cmd.Stdout, cmd.Stderr = &out, &messages
	cmd.WaitDelay = waitDelay
	err = cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), messages.String(), err
}

// fromHere returns out with the file names at the start of lines relative to the working
// directory.
func (p *Package) fromHere(out string) string {
	if p.workDir == "" || filepath.Clean(p.workDir) == "." {
		return out
	}
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "."+string(filepath.Separator)); ok {
			lines[i] = filepath.Clean(p.workDir) + string(filepath.Separator) + rest
		}
	}
	return strings.Join(lines, "\n")
}
