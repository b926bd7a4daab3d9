// Command deploying puts each snippet of docs/deploying.md into the template
// that it changes and has "sam validate --lint" check the result, and runs the
// page's commands for SQS against emulator/sqs. It ends with 1 when a template is
// not valid, or not without warnings, or a command is refused.
//
//	go run ./test/integration/deploying
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "deploying:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	docs := filepath.Join(root, "docs")
	page, err := os.ReadFile(filepath.Join(docs, "deploying.md"))
	if err != nil {
		return err
	}
	all, err := parts(string(page))
	if err != nil {
		return err
	}
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-deploying-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, p := range all {
		template, err := p.assemble(docs)
		if err != nil {
			return err
		}
		file := filepath.Join(tmp, "template.yaml")
		if err := os.WriteFile(file, template, 0o644); err != nil {
			return err
		}
		var out bytes.Buffer
		cmd := sam.Command(ctx, "validate", "--lint", "--template-file", file)
		cmd.Dir = tmp // no samconfig.toml
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s, put into %s: %w\n%s\n%s", p.name(), p.base, err, out.Bytes(), template)
		}
		fmt.Printf("%s, put into %s: valid\n", p.name(), filepath.Base(p.base))
	}
	return runQueueCommands(ctx, string(page), tmp)
}
