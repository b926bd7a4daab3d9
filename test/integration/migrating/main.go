// Command migrating does what a reader of docs/migrating.md does: it copies the
// programs of the page into an empty module and builds them, and runs the page's
// commands. It ends with 1 when one does not build, or a command ends otherwise
// than the comment behind it says.
//
//	go run ./test/integration/migrating
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "migrating:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "migrating.md"))
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-migrating-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := build(ctx, root, filepath.Join(tmp, "moved"), string(page)); err != nil {
		return err
	}
	tool := filepath.Join(tmp, "sqsbatch.exe")
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
			if err := c.run(ctx, tool, root); err != nil {
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
