package sam

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/elfcheck"
)

// checkBootstrap looks for what keeps a binary from starting on Lambda.
func checkBootstrap(path, arch string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&0o111 == 0 {
		return errors.New("is not executable")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := elfcheck.Check(f, arch); err != nil {
		return err
	}
	return checkSettings(path)
}

func checkSettings(path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	got := map[string]string{}
	for _, s := range info.Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{"CGO_ENABLED": "0", "-tags": "lambda.norpc", "-trimpath": "true"} {
		if got[key] != want {
			return fmt.Errorf("was built with %s=%q, want %q", key, got[key], want)
		}
	}
	return nil
}

// builtArchitecture is the function's architecture in a built template.
func builtArchitecture(template string) (string, error) {
	b, err := os.ReadFile(template)
	if err != nil {
		return "", err
	}
	var t struct {
		Resources struct {
			OrdersFunction struct {
				Properties struct {
					Architectures []string `yaml:"Architectures"`
				} `yaml:"Properties"`
			} `yaml:"OrdersFunction"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(b, &t); err != nil {
		return "", fmt.Errorf("%s: %w", template, err)
	}
	archs := t.Resources.OrdersFunction.Properties.Architectures
	if len(archs) != 1 {
		return "", fmt.Errorf("OrdersFunction has the architectures %v, want one", archs)
	}
	return archs[0], nil
}
