package local_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// A changing builder builds the package whose directory the file main.go of dir names.
type changing struct{ dir string }

func (c changing) write(t *testing.T, pkg string) {
	t.Helper()
	golden.OK(t, os.WriteFile(filepath.Join(c.dir, "main.go"), []byte(pkg), 0o644))
}

func (c changing) Find(ctx context.Context, _ string) (*build.Package, error) {
	pkg, err := os.ReadFile(filepath.Join(c.dir, "main.go"))
	if err != nil {
		return nil, err
	}
	p, err := programs.Find(ctx, string(pkg))
	if err != nil {
		return nil, err
	}
	again := *p
	again.Dirs = []string{c.dir}
	return &again, nil
}

func (c changing) Build(ctx context.Context, p *build.Package, dir string) (string, error) {
	return programs.Build(ctx, p, dir)
}

// The queue keeps its messages, whatever becomes of the function.
func TestWatch_GoesOnWithTheFunctionThatWasBuilt(t *testing.T) {
	for _, mode := range []string{"lambda", "poll"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := changing{t.TempDir()}
			c.write(t, filepath.Join(root, "examples", "orders"))
			s := &script{interrupts: make(chan os.Signal, 2)}
			send := func(output, id string) {
				client, url := clientOf(output)
				_, err := client.SendMessage(context.Background(), &sqs.SendMessageInput{
					QueueUrl: aws.String(url + "/000000000000/local-orders"), MessageBody: aws.String(`{"id":"` + id + `","sku":"ok","quantity":1}`),
				})
				if err != nil {
					t.Error(err)
				}
			}
			s.steps = map[string]func(string){
				"10 sent · 10 succeeded": func(string) { golden.OK(t, os.RemoveAll(c.dir)) },
				"main.go: no such file": func(string) {
					golden.OK(t, os.Mkdir(c.dir, 0o755))
					c.write(t, filepath.Join("testdata", "broken"))
				},
				"broken does not build":    func(string) { c.write(t, filepath.Join("testdata", "exits")) },
				"the new build takes over": func(output string) { send(output, "o-11") }, // Lambda starts no process without one
				"it starts again after the next change": func(output string) {
					c.write(t, filepath.Join(root, "examples", "orders"))
					send(output, "o-12")
				},
				"12 sent · 11 succeeded": s.interrupt,
				"12 sent · 12 succeeded": s.interrupt, // without a process o-11 is still in the queue
			}
			args := []string{"--watch", "--mode", mode, "--template", own, "--event", filepath.Join(root, "events", "ten.json"), c.dir}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := runWith(ctx, args, cli.IO{Stdout: show.To(s), Stderr: show.To(io.Discard), Interrupts: s.interrupts}, c)
			s.running.Wait()
			text := s.text.String()
			if err != nil || strings.Count(text, "the new build takes over") < 2 || !strings.Contains(text, "broken does not build") || len(s.steps) > 1 {
				t.Errorf("%v, steps %d:\n%s", err, len(s.steps), text)
			}
		})
	}
}
