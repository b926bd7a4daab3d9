package local_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
)

func TestMain(m *testing.M) {
	// The tests wait for visibility timeouts of a real clock, not for a processor.
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "6") // the flag is there
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if programs.dir != "" {
			_ = os.RemoveAll(programs.dir) // temporary anyway
		}
		os.Exit(code)
	}))
}

// runLocal is `sqsbatch local` with programs that are built once for all tests: linking
// one costs a second of processor time. TestSamples runs the command as it is.
func runLocal(ctx context.Context, args []string, tio cli.IO) error {
	return runWith(ctx, args, tio, &programs)
}

func runWith(ctx context.Context, args []string, tio cli.IO, builder build.Builder) error {
	tio.Args = append([]string{"local"}, args...)
	return cli.Root(tio, local.Command(tio, builder)).ExecuteContext(ctx)
}

var programs onceBuilder

// onceBuilder asks the go command about each package and builds it once.
type onceBuilder struct {
	mu    sync.Mutex
	dir   string
	found map[string]func() (*build.Package, error)
	built map[string]func() (string, error)
}

func (o *onceBuilder) Find(_ context.Context, arg string) (*build.Package, error) {
	o.mu.Lock()
	find, ok := o.found[arg]
	if !ok {
		find = sync.OnceValues(func() (*build.Package, error) { return build.Go{}.Find(context.Background(), arg) })
		if o.found == nil {
			o.found = map[string]func() (*build.Package, error){}
		}
		o.found[arg] = find
	}
	o.mu.Unlock()
	return find()
}

func (o *onceBuilder) Build(_ context.Context, p *build.Package, _ string) (string, error) {
	o.mu.Lock()
	b, ok := o.built[p.Dir]
	if !ok {
		b = sync.OnceValues(func() (string, error) {
			dir, err := o.subdirectory(filepath.Base(p.Dir))
			if err != nil {
				return "", err
			}
			return build.Go{}.Build(context.Background(), p, dir)
		})
		if o.built == nil {
			o.built = map[string]func() (string, error){}
		}
		o.built[p.Dir] = b
	}
	o.mu.Unlock()
	return b()
}

func (o *onceBuilder) subdirectory(name string) (dir string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "sqsbatch-local-test-"); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(o.dir, name)
}
