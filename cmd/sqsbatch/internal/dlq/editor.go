package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

// newEditor returns an editor that opens each message in the user's editor, and shows the
// difference. A file without a change is sent as it was; an empty one leaves the message
// in the queue.
func newEditor(s *session) (editor, error) {
	in, ok := s.tio.Stdin.(*os.File)
	out := s.tio.Stdout.File()
	if !ok || out == nil || !term.IsTerminal(int(in.Fd())) {
		return nil, errors.New("--editor needs a terminal; --edit takes a jq program")
	}
	command := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	return func(ctx context.Context, l letter.Letter) (letter.Letter, bool, error) {
		dir, err := os.MkdirTemp("", "sqsbatch-dlq-")
		if err != nil {
			return l, false, err
		}
		defer os.RemoveAll(dir) // it has the body
		path, text := filepath.Join(dir, "message.json"), letter.Editable(l)
		for {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				return l, false, err
			}
			run := exec.CommandContext(ctx, command[0], append(command[1:], path)...)
			run.Stdin, run.Stdout, run.Stderr = in, out, out
			if err := run.Run(); err != nil {
				return l, false, fmt.Errorf("editor %s: %w", command[0], err)
			}
			if text, err = os.ReadFile(path); err != nil {
				return l, false, err
			}
			if len(strings.TrimSpace(string(text))) == 0 {
				return l, false, nil
			}
			edited, err := letter.FromEdited(l, text)
			if err == nil {
				if diff := letter.Diff(l, edited); diff != "" {
					s.status.say("%s", strings.TrimSuffix(diff, "\n"))
				}
				return edited, true, nil
			}
			s.status.say("%v; Enter edits it again, q leaves the message in the queue", err)
			if !again(s.soft, in) {
				return l, false, nil
			}
		}
	}, nil
}

// again reads an answer: false for q, and if ctx ends before it comes.
func again(ctx context.Context, in io.Reader) bool {
	yes := make(chan bool, 1)
	go func() { yes <- answer(in) }() // ctx cannot end a read; after it, nothing reads
	select {
	case ok := <-yes:
		return ok
	case <-ctx.Done():
		return false
	}
}

func answer(in io.Reader) bool {
	var answer []byte
	for b := make([]byte, 1); ; {
		if n, err := in.Read(b); n == 0 || err != nil {
			return false
		}
		if b[0] == '\n' {
			return !strings.HasPrefix(strings.TrimSpace(string(answer)), "q")
		}
		answer = append(answer, b[0])
	}
}
