package sqsserver_test

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/internal/module"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

func TestServer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sqsbatch.exe")
	if err := module.Build(t.Context(), program, "./cmd/sqsbatch"); err != nil {
		t.Fatal(err)
	}
	s, err := sqsserver.Start(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(s.URL)
	if err != nil {
		t.Error(err)
	} else {
		answer.Body.Close()
	}
	if s.PID <= 0 {
		t.Errorf("its process is %d", s.PID)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.URL); err == nil {
		t.Error("it still answers")
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqsserver.Start(ended, program); !errors.Is(err, context.Canceled) {
		t.Errorf("without time to start: %v", err)
	}
}

func TestAnotherProgram(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "start sqsbatch sqs",
		goTool:                             "unknown command", // what it says for itself
	} {
		if _, err := sqsserver.Start(t.Context(), program); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", program, err, want)
		}
	}
}

func TestBuild(t *testing.T) {
	err := module.Build(t.Context(), filepath.Join(t.TempDir(), "none"), "./no/such/package")
	if err == nil || !strings.Contains(err.Error(), "./no/such/package") {
		t.Errorf("a package that there is not: %v", err)
	}
}
