package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

type project struct {
	stage *stage.Stage
	dir   string
}

func (p *project) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	return p.stage.Log.Run(cmd)
}

// use has the project take the module from the checkout.
func (p *project) use(ctx context.Context) error {
	if _, err := p.run(ctx, "go", "mod", "edit", "-replace", "github.com/sqsbatch/sqsbatch="+p.stage.Root); err != nil {
		return err
	}
	_, err := p.run(ctx, "go", "mod", "tidy")
	return err
}

// try runs what the project's README.md says, apart from what needs SAM.
func (p *project) try(ctx context.Context) error {
	unformatted, err := p.run(ctx, "gofmt", "-l", ".")
	if err != nil || unformatted != "" {
		return fmt.Errorf("gofmt would change %s(%v)", unformatted, err)
	}
	if _, err := p.run(ctx, "make", "test"); err != nil {
		return err
	}
	fmt.Println("go vet, go test: fine")
	for _, mode := range []string{"lambda", "poll"} {
		out, err := p.run(ctx, "go", "tool", "sqsbatch", "local", "--mode", mode, "--once", "--timeout", "2m",
			"--output", "json", "--event", "events/signups.json")
		if err != nil {
			return err
		}
		var summary struct{ Type, Sent, Succeeded, DeadLettered, Remaining any }
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil {
			return fmt.Errorf("the last line of sqsbatch local is %q: %w", lines[len(lines)-1], err)
		}
		got := fmt.Sprintf("%v: %v sent, %v succeeded, %v dead letters, %v left",
			summary.Type, summary.Sent, summary.Succeeded, summary.DeadLettered, summary.Remaining)
		if want := "summary: 7 sent, 4 succeeded, 3 dead letters, 0 left"; got != want {
			return fmt.Errorf("sqsbatch local --mode %s: %s, want %s", mode, got, want)
		}
		fmt.Printf("sqsbatch local --mode %s: %s\n", mode, got)
	}
	return nil
}
