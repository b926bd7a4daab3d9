package main

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedPipe: when what reads the output ends, as in `sqsbatch local | head`,
// the run ends with an error and leaves nothing behind.
func TestClosedPipe(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			temporary := t.TempDir()
			cmd := command(t, temporary, "local", "--timeout", "1m", "--output", format)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReaderSize(stdout, 16).ReadString('\n')
			if err != nil || line == "" {
				t.Errorf("%q, %v", line, err)
			}
			_ = stdout.Close() // Wait would close it too
			_ = cmd.Wait()     // the status says it
			if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(stderr.String(), "sqsbatch local: standard output: ") {
				t.Errorf("status %d\n%s", status, stderr.String())
			}
			left, err := filepath.Glob(filepath.Join(temporary, "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
