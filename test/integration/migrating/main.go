// Package migrating does what a reader of docs/migrating.md does: it copies the
// programs of the page into an empty module and builds them, and runs the page's
// commands, each of which must end as the comment behind it says.
package migrating

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	page, err := os.ReadFile(filepath.Join(s.Root, "docs", "migrating.md"))
	if err != nil {
		return err
	}
	if err := build(ctx, s, string(page)); err != nil {
		return err
	}
	tool := filepath.Join(s.Tmp, "sqsbatch.exe")
	if err := module.Build(ctx, tool, "./cmd/sqsbatch"); err != nil {
		return err
	}
	commands, err := parse(string(page))
	if err != nil {
		return err
	}
	// Most of the time of one goes into building its function.
	errs := make([]error, len(commands))
	places := make(chan struct{}, max(2, runtime.NumCPU()))
	var wg sync.WaitGroup
	for i, c := range commands {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := c.run(ctx, tool, s.Root); err != nil {
				errs[i] = fmt.Errorf("docs/migrating.md, line %d: %s\n%w", c.line, c.text, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("%d commands end as the page says\n", len(commands))
	return nil
}
