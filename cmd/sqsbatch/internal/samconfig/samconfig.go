// Package samconfig reads the parameters of templates that SAM's configuration file sets.
package samconfig

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/internal/words"
)

// files are the names of SAM's configuration file, in SAM's order of preference
// ("AWS SAM CLI configuration file").
var files = []string{"samconfig.toml", "samconfig.yaml", "samconfig.yml"}

// DefaultEnv is the environment of SAM's commands without --config-env.
const DefaultEnv = "default"

// Parameters reads the parameters that `sam deploy --config-env env` would set from the
// configuration file in dir. It returns the file's path, "" without one. An environment that
// the file does not have is a usage error of command, except for the default one.
func Parameters(command, dir, env string) (path string, parameters map[string]string, err error) {
	for _, name := range files {
		path = filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return path, nil, err
		}
		if parameters, err = parse(data, filepath.Ext(name) == ".toml", command, env); err != nil {
			return path, nil, fmt.Errorf("%s: %w", path, err)
		}
		return path, parameters, nil
	}
	return "", nil, nil
}

func parse(data []byte, isTOML bool, command, env string) (map[string]string, error) {
	var all map[string]any
	unmarshal := yaml.Unmarshal
	if isTOML {
		unmarshal = toml.Unmarshal
	}
	if err := unmarshal(data, &all); err != nil {
		return nil, err
	}
	chosen, ok := all[env].(map[string]any)
	if !ok && env != DefaultEnv {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return name == "version" })
		meant := ""
		if nearest := words.Nearest(env, names); nearest != "" {
			meant = "; is " + nearest + " meant?"
		}
		return nil, cli.Usagef(command, "--config-env is %q, and the file has %s%s", env, strings.Join(names, ", "), meant)
	}
	for _, of := range []string{"deploy", "global"} {
		section, _ := chosen[of].(map[string]any)
		set, _ := section["parameters"].(map[string]any)
		if overrides, ok := set["parameter_overrides"]; ok {
			return parameterOverrides(overrides)
		}
	}
	return nil, nil
}

// parameterOverrides reads the forms that SAM takes: a text, a list of texts or of
// tables, and a table.
func parameterOverrides(v any) (map[string]string, error) {
	out := map[string]string{}
	return out, addOverrides(out, v)
}

func addOverrides(out map[string]string, v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return addWords(out, v)
	case []any:
		return addEach(out, v)
	case []map[string]any: // an array of tables
		return addEach(out, v)
	case map[string]any:
		for name, value := range v {
			text, err := overrideText(value)
			if err != nil {
				return fmt.Errorf("parameter_overrides: %s %w", name, err)
			}
			out[name] = text
		}
		return nil
	default:
		return fmt.Errorf("parameter_overrides is %v; it must be a string, a list or a table", v)
	}
}

func addEach[T any](out map[string]string, list []T) error {
	for _, item := range list {
		if err := addOverrides(out, item); err != nil {
			return err
		}
	}
	return nil
}

// overrideText is the value of a parameter in a table. CloudFormation writes a list with commas.
func overrideText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string, bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	case []any:
		var items []string
		for _, item := range v {
			text, err := overrideText(item)
			if err != nil {
				return "", err
			}
			items = append(items, text)
		}
		return strings.Join(items, ","), nil
	default:
		return "", fmt.Errorf("is %v; it must be a string, a number, a boolean or a list", v)
	}
}

// addWords reads "A=1 B='2 3'", and the older form "ParameterKey=A,ParameterValue=1".
func addWords(out map[string]string, text string) error {
	if file, ok := strings.CutPrefix(strings.TrimSpace(text), "file://"); ok {
		return fmt.Errorf("parameter_overrides names the file %s, which this command does not read; set the parameters with --parameter-overrides", file)
	}
	words, err := splitWords(text)
	if err != nil {
		return fmt.Errorf("parameter_overrides: %w", err)
	}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if rest, is := strings.CutPrefix(word, "ParameterKey="); is {
			name, value, ok = strings.Cut(rest, ",ParameterValue=")
		}
		if !ok || name == "" {
			return fmt.Errorf("parameter_overrides has %q; it must be written as NAME=VALUE", word)
		}
		out[name] = value
	}
	return nil
}

// splitWords splits at blanks outside quotes, as a shell does. A backslash is kept
// unless a quote or a backslash follows it.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			if r != '"' && r != '\'' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, begun = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("%q ends within quotes", text)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
