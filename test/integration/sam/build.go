package sam

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/elfcheck"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"go.yaml.in/yaml/v3"
)

// checkBuilds builds for both architectures in several environments: the bootstrap
// is the same byte for byte.
func checkBuilds(ctx context.Context, s *stage.Stage, sam *samcli.CLI) (err error) {
	defer must.Return(&err)
	for _, arch := range []string{"arm64", "x86_64"} {
		source := filepath.Join(s.Tmp, arch)
		must.Do(samcli.Copy(ctx, s, source, arch))
		var first []byte
		for _, environment := range [][]string{nil, {"CGO_ENABLED=0"}, {"CGO_ENABLED=1", "GOFLAGS=-tags=other"}} {
			content, err := build(ctx, s, sam, source, arch, environment)
			if err != nil {
				return fmt.Errorf("sam build for %s with %v: %w", arch, environment, err)
			}
			if first == nil {
				first = content
			}
			if !bytes.Equal(content, first) {
				return fmt.Errorf("sam build for %s with %v makes another bootstrap than without", arch, environment)
			}
		}
		fmt.Printf("sam build makes a static, stripped %s bootstrap of %.1f MB, the same with cgo on, off and by default\n", arch, float64(len(first))/1e6)
	}
	return nil
}

func build(ctx context.Context, s *stage.Stage, sam *samcli.CLI, source, arch string, environment []string) (_ []byte, err error) {
	defer must.Return(&err)
	cmd := sam.Command(ctx, "build")
	cmd.Dir = source
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "CGO_ENABLED=") || strings.HasPrefix(v, "GOFLAGS=") })
	cmd.Env = append(cmd.Env, environment...)
	must.Get(s.Log.Run(cmd))
	built := filepath.Join(source, ".aws-sam", "build")
	dir := filepath.Join(built, "OrdersFunction")
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("left no function: %w", err)
	}
	if len(files) != 1 || files[0].Name() != "bootstrap" {
		return nil, fmt.Errorf("packs %v, want the bootstrap alone", files)
	}
	if asked := builtArchitectures(filepath.Join(built, "template.yaml")); !slices.Equal(asked, []string{arch}) {
		return nil, fmt.Errorf("deploys it for %v", asked)
	}
	path := filepath.Join(dir, "bootstrap")
	if err := checkBootstrap(path, arch); err != nil {
		return nil, fmt.Errorf("the bootstrap %w", err)
	}
	return os.ReadFile(path)
}

// checkBootstrap looks for what keeps a binary from starting on Lambda.
func checkBootstrap(path, arch string) (err error) {
	defer must.Return(&err)
	info := must.Get(os.Stat(path))
	if info.Mode()&0o111 == 0 {
		return errors.New("is not executable")
	}
	f := must.Get(os.Open(path))
	defer f.Close()
	must.Do(elfcheck.Check(f, arch))
	checkSettings(path)
	return nil
}

func checkSettings(path string) {
	got := map[string]string{}
	for _, s := range must.Get(buildinfo.ReadFile(path)).Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{"CGO_ENABLED": "0", "-tags": "lambda.norpc", "-trimpath": "true"} {
		if got[key] != want {
			must.Failf("was built with %s=%q, want %q", key, got[key], want)
		}
	}
}

// builtArchitectures are those of the function in a built template.
func builtArchitectures(template string) []string {
	var t struct {
		Resources struct {
			OrdersFunction struct {
				Properties struct {
					Architectures []string `yaml:"Architectures"`
				} `yaml:"Properties"`
			} `yaml:"OrdersFunction"`
		} `yaml:"Resources"`
	}
	must.Do(yaml.Unmarshal(must.Get(os.ReadFile(template)), &t))
	return t.Resources.OrdersFunction.Properties.Architectures
}
