package lambda_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

func decode(t *testing.T, r lambda.Result, into any) {
	t.Helper()
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	if err := json.Unmarshal(r.Payload, into); err != nil {
		t.Fatalf("%s: %v", r.Payload, err)
	}
}

func TestEnvironmentVariables(t *testing.T) {
	t.Setenv("AWS_PROFILE", "production")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAREAL")
	t.Setenv("SQSBATCH_CONCURRENCY", "7")
	d := deploy(t, "worker", func(f *lambda.Function) {
		f.Region, f.MemoryMB = "eu-central-1", 512
		f.Env["TABLE"] = "orders"
		f.Env["AWS_SECRET_ACCESS_KEY"] = "given"
	})
	var list []string
	decode(t, invoke(t, d, command{Do: "env"}), &list)
	env := map[string]string{}
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	exe, err := os.Executable()
	ok(t, err)
	for name, want := range map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "worker", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/worker",
		"AWS_REGION":                "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "given", "AWS_SESSION_TOKEN": "test",
		"LAMBDA_TASK_ROOT": filepath.Dir(exe), "_HANDLER": "bootstrap", "TZ": ":UTC",
		"TABLE": "orders", "PATH": os.Getenv("PATH"),
	} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
	if s := env["AWS_LAMBDA_LOG_STREAM_NAME"]; !strings.Contains(s, "[$LATEST]") {
		t.Errorf("log stream %q", s)
	}
	for _, name := range []string{"AWS_PROFILE", "SQSBATCH_CONCURRENCY", "AWS_EXECUTION_ENV", "AWS_SAM_LOCAL"} {
		if value, ok := env[name]; ok {
			t.Errorf("%s=%q is passed on", name, value)
		}
	}
}

// A relative Command is the caller's, whatever Dir says.
func TestWorkingDirectory(t *testing.T) {
	exe, err := os.Executable()
	ok(t, err)
	here, err := os.Getwd()
	ok(t, err)
	relative, err := filepath.Rel(here, exe)
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	d := deploy(t, "worker", func(f *lambda.Function) { f.Command, f.Dir = []string{relative}, dir })
	var list []string
	decode(t, invoke(t, d, command{Do: "env"}), &list)
	for _, v := range list {
		if root, ok := strings.CutPrefix(v, "LAMBDA_TASK_ROOT="); ok && root != dir {
			t.Errorf("task root %s, want %s", root, dir)
		}
	}
}
