package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// examplePackage is built if neither the argument nor the template names a package.
const examplePackage = "examples/orders"

// A plan has the template, the package and the messages of a run. It is checked before anything
// starts.
type plan struct {
	o          options
	template   *template.Template
	settings   string               // the template's path or origin, for the user
	deployment *template.Deployment // without an endpoint until start
	builder    build.Builder
	pkg        *build.Package
	pkgName    string // the package, for the user
	input      input
}

func (r *run) plan(ctx context.Context) (*plan, error) {
	p := &plan{o: r.o, builder: r.builder}
	var err error
	if r.o.event != "" {
		if p.input, err = r.readEvent(ctx); err != nil {
			return nil, err
		}
	}
	if p.template, p.settings, err = readTemplate(r.o); err != nil {
		return nil, err
	}
	if p.deployment, err = p.resolve(""); err != nil {
		return nil, err
	}
	if err := p.findPackage(ctx); err != nil {
		return nil, err
	}
	if r.o.event != "" || r.o.stdin || r.o.noSamples {
		return p, nil
	}
	found := false
	if p.input, found, err = samples(p.pkg); err == nil && !found {
		err = p.nothingToSend()
	}
	return p, err
}

// readTemplate returns the function's template, and its path or origin, for the user.
func readTemplate(o options) (t *template.Template, settings string, err error) {
	path := o.template
	if path == "" {
		dirs := templateDirs(o.pkg)
		if path, err = template.Find(dirs...); err != nil {
			return defaultTemplate(o, dirs)
		}
	}
	t, err = template.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("there is no template %s; --template names a SAM or CloudFormation template. Without it, a package that you name runs with default settings", path)
	}
	return t, path, err
}

// defaultTemplate returns the template of a package without one in dirs. It returns an error if
// the command line names no package, or a resource or parameter of a template.
func defaultTemplate(o options, dirs []string) (t *template.Template, settings string, err error) {
	where := strings.Join(dirs, ", ")
	switch {
	case o.function != "" || o.queue != "" || len(o.parameters) > 0:
		return nil, "", fmt.Errorf("no %s in %s; name one with --template FILE, because --function, --queue and --parameter-overrides choose in a template",
			template.Names[0], where)
	case o.pkg == "":
		return nil, "", fmt.Errorf("no %s in %s; name one with --template FILE, or name the function's package, as in `%s .`, to run it with default settings",
			template.Names[0], where, o.command())
	}
	t, err = template.Defaults()
	return t, fmt.Sprintf("defaults, because there is no %s in %s; --template FILE names one", template.Names[0], where), err
}

// templateDirs returns the working directory, and the directories from the package's up to its
// module's.
func templateDirs(pkg string) []string {
	dirs := []string{"."}
	here, err := filepath.Abs(".")
	dir, bad := filepath.Abs(pkg)
	if !isDir(pkg) || err != nil || bad != nil {
		return dirs
	}
	for {
		if dir != here {
			dirs = append(dirs, dir)
		}
		parent := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || parent == dir {
			return dirs
		}
		dir = parent
	}
}

func (p *plan) resolve(endpoint string) (*template.Deployment, error) {
	d, err := p.template.Resolve(template.Options{
		Function: p.o.function, Queue: p.o.queue, Parameters: p.o.parameters, Endpoint: endpoint,
		AllEvents: p.o.mode == modePoll,
	})
	var choice *template.ChoiceError
	switch {
	case err == nil:
		return d, nil
	case !errors.As(err, &choice):
		return nil, err
	case len(choice.Candidates) == 0:
		return nil, fmt.Errorf("%w; add one to a function (Events: {Name: {Type: SQS, Properties: {Queue: !GetAtt QUEUE.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}}), or name another template with --template FILE", err)
	default:
		return nil, fmt.Errorf("%w; choose with --function NAME", err)
	}
}

// polled returns the queues that feed the function, each once.
func (p *plan) polled() (queues []template.Queue) {
	for _, m := range p.deployment.Mappings() {
		if !slices.ContainsFunc(queues, func(q template.Queue) bool { return q.ARN == m.Queue.ARN }) {
			queues = append(queues, m.Queue)
		}
	}
	return queues
}

// sources returns the names of the queues that feed the function.
func (p *plan) sources() (names []string) {
	for _, q := range p.polled() {
		names = append(names, q.Name)
	}
	return names
}

// maxReceiveCounts returns the maxReceiveCount of each queue with a dead-letter queue, by name.
func (p *plan) maxReceiveCounts() map[string]int {
	counts := map[string]int{}
	for _, q := range p.deployment.Queues {
		if q.DeadLetterARN != "" {
			counts[q.Name] = q.MaxReceiveCount
		}
	}
	return counts
}

// findPackage sets the main package: the argument, CodeUri, or the example.
func (p *plan) findPackage(ctx context.Context) (err error) {
	if p.o.pkg != "" {
		p.pkgName = p.o.pkg
		p.pkg, err = p.builder.Find(ctx, p.pkgName)
		return err
	}
	code := p.deployment.Function.CodeDir
	example := filepath.Join(filepath.Dir(p.template.Path), filepath.FromSlash(examplePackage))
	for _, dir := range []string{code, example} {
		if !isDir(dir) {
			continue
		}
		p.pkgName = dir
		if p.pkg, err = p.builder.Find(ctx, dir); err == nil || errors.Is(err, build.ErrNoGo) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("no package to build: %s names no main package as CodeUri of %s; give it as argument, as in `%s ./cmd/function`",
		p.template.Path, p.deployment.Function.LogicalID, p.o.command())
}
