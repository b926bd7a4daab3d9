package samconfig

import (
	"maps"
	"strings"
	"testing"
)

// The forms in which SAM takes parameter_overrides.
func TestSamconfig_EveryForm(t *testing.T) {
	both := map[string]string{"A": "1", "B": "2 3"}
	for name, tt := range map[string]struct {
		text string
		yaml bool
		want map[string]string
	}{
		"text":               {text: `parameter_overrides = "A=1 B=\"2 3\""`, want: both},
		"single quotes":      {text: `parameter_overrides = "A='1' B='2 3'"`, want: both},
		"several lines":      {text: "parameter_overrides = \"\"\"\nA=1\n  B='2 3'\n\"\"\"", want: both},
		"the older form":     {text: `parameter_overrides = "ParameterKey=A,ParameterValue=1 ParameterKey=B,ParameterValue=\"2 3\""`, want: both},
		"escaped quotes":     {text: `parameter_overrides = 'A="say \"hi\"" B=c:\dir'`, want: map[string]string{"A": `say "hi"`, "B": `c:\dir`}},
		"an empty value":     {text: `parameter_overrides = "A= B=\"\""`, want: map[string]string{"A": "", "B": ""}},
		"an equals sign":     {text: `parameter_overrides = "A=b=c"`, want: map[string]string{"A": "b=c"}},
		"list":               {text: `parameter_overrides = ["A=1", "B='2 3'"]`, want: both},
		"table":              {text: `parameter_overrides = {A = 1, B = "2 3"}`, want: both},
		"list of tables":     {text: `parameter_overrides = [{A = 1}, {B = "2 3"}]`, want: both},
		"array of tables":    {text: "[[prod.deploy.parameters.parameter_overrides]]\nA = 1\nB = \"2 3\"", want: both},
		"values of a table":  {text: `parameter_overrides = {T = true, F = 1.5, L = ["a", "b"]}`, want: map[string]string{"T": "true", "F": "1.5", "L": "a,b"}},
		"none":               {text: `region = "eu-west-1"`, want: nil},
		"of all commands":    {text: "[prod.global.parameters]\nparameter_overrides = \"A=1\"", want: map[string]string{"A": "1"}},
		"of another command": {text: "[prod.build.parameters]\nparameter_overrides = \"A=1\"", want: nil},
		"YAML":               {text: "prod: {deploy: {parameters: {parameter_overrides: [A=1, {B: 2 3}]}}}", yaml: true, want: both},
	} {
		text := tt.text
		if !tt.yaml {
			text = "version = 0.1\n[prod.deploy.parameters]\n" + text
		}
		got, err := parse([]byte(text), !tt.yaml, "lint", "prod")
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

// A form that cannot be read is an error that names it, never a guess.
func TestSamconfig_Errors(t *testing.T) {
	for text, want := range map[string]string{
		`parameter_overrides = "A"`:                      `parameter_overrides has "A"; it must be written as NAME=VALUE`,
		`parameter_overrides = "A='1"`:                   `"A='1" ends within quotes`,
		`parameter_overrides = 5`:                        "parameter_overrides is 5; it must be a string, a list or a table",
		`parameter_overrides = {A = {B = 1}}`:            "parameter_overrides: A is map[B:1]; it must be",
		`parameter_overrides = "file://parameters.json"`: "names the file parameters.json",
		`parameter_overrides = `:                         "expected value",
	} {
		_, err := parse([]byte("[prod.deploy.parameters]\n"+text), true, "lint", "prod")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParameterOverrides(f *testing.F) {
	f.Add(`A=1 B="2 3"`)
	f.Add(`ParameterKey=A,ParameterValue='1\'`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parameterOverrides(text)
		if _, unnamed := set[""]; unnamed {
			t.Errorf("%q sets a parameter without a name (%v)", text, err)
		}
	})
}
