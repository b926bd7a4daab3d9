// Package migrating does what a reader of docs/migrating does: it copies the
// programs of the pages into an empty module and builds them, and runs the pages'
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

// A page is one document of docs/migrating.
type page struct{ name, text string }

func readPages(root string) (pages []page, err error) {
	found, err := filepath.Glob(filepath.Join(root, "docs", "migrating", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{"docs/migrating/" + filepath.Base(path), string(text)})
	}
	return pages, nil
}

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	pages, err := readPages(s.Root)
	if err != nil {
		return err
	}
	if err := build(ctx, s, pages); err != nil {
		return err
	}
	tool := filepath.Join(s.Tmp, "sqsbatch.exe")
	if err := module.Build(ctx, tool, "./cmd/sqsbatch"); err != nil {
		return err
	}
	commands, err := parse(pages)
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
				errs[i] = fmt.Errorf("%s: %s\n%w", c.at, c.text, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("%d commands end as the pages say\n", len(commands))
	return nil
}
