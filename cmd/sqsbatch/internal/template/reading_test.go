package template_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A text that readers of YAML and JSON take in different ways is refused, with the place.
func TestParse_AmbiguousText(t *testing.T) {
	const first = "Resources: {Q: {Type: AWS::SQS::Queue}}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"two documents":              {first + "---\n" + first, "line 2: a second document begins here"},
		"two documents, one comment": {"---\n" + first + "# the other\n---\nkind: Deployment\n", "line 4: a second document begins here"},
		"an empty second document":   {first + "---\n", "line 2: a second document begins here"},
		"a resource twice, in JSON":  {"{\"Resources\": {\n\"Q\": {\"Type\": \"A\"},\n\"Q\": {\"Type\": \"B\"}}}", "line 3: the name \"Q\" is already on line 2"},
		"a property twice, in YAML":  {"Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Type: AWS::SNS::Topic\n", "line 4: the name \"Type\" is already on line 3"},
		"two names twice":            {"A: 1\nA: 2\nB: 1\nB: 2\nResources: {}\n", "line 4: the name \"B\""},
	} {
		if _, err := template.Parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	for name, text := range map[string]string{
		"one document between marks": "---\n" + first + "...\n",
		"two merged mappings":        "A: &a {X: 1}\nB: &b {Y: 1}\nC:\n  <<: *a\n  <<: *b\n" + first,
		"a merged name again":        "A: &a {X: 1}\nC:\n  <<: *a\n  X: 2\n" + first,
	} {
		if _, err := template.Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zeros never ends, as /dev/zero.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	z.read += len(p)
	return len(p), nil
}

func TestReadAll_EndsAtTheBound(t *testing.T) {
	var source zeros
	if _, err := template.ReadAll(&source, template.MaxSize); err == nil || err.Error() != "it is larger than 4 MiB, the most that is read" {
		t.Error(err)
	}
	if source.read > 2*template.MaxSize {
		t.Errorf("%d bytes were read", source.read)
	}
	data, err := template.ReadAll(bytes.NewReader(make([]byte, template.MaxSize)), template.MaxSize)
	if err != nil || len(data) != template.MaxSize {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestRead_TooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	golden.OK(t, os.WriteFile(path, make([]byte, template.MaxSize+1), 0o600))
	if _, err := template.Read(path); err == nil || err.Error() != path+": it is larger than 4 MiB, the most that is read" {
		t.Error(err)
	}
}

// Manifests are not mistaken for templates, and each object has a name and a place.
func TestParseManifest(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a template":                      {"Metadata: {apiVersion: v1, kind: x}\nResources: {}\n", ""},
		"a template with other documents": {"Resources: {}\n---\napiVersion: v1\nkind: Pod\n", ""},
		"something else":                  {"apiVersion: v1\n", ""},
		"nothing":                         {"# apiVersion\n", ""},
		"two documents": {"---\n# apiVersion\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\nother: 1\n---\napiVersion: v1\nkind: Job\nmetadata: {name: b, namespace: n}\n",
			"Pod a line 4, Job n/b line 10"},
		"a list": {`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}, 1, {"apiVersion": "v1", "kind": "Job", "metadata": {"name": ["x"]}}]}`,
			"Pod line 1, Job line 1"},
		"a task definition":        {`{"family": "f", "containerDefinitions": []}`, "f line 1"},
		"a described one":          {"{\"taskDefinition\":\n{\"containerDefinitions\": []}, \"tags\": []}", "task definition line 2"},
		"aliases":                  {"apiVersion: v1\nkind: List\nx: &x {apiVersion: v1, kind: Pod}\nitems: [*x, *x, {apiVersion: v1, kind: Job}]\n", "Job line 4"},
		"a name twice":             {"apiVersion: v1\nkind: Pod\nkind: Job\n", "line 3: the name \"kind\" is already on line 2"},
		"a template of Helm":       {"apiVersion: v1\nkind: {{ .Kind }}\n", "helm template"},
		"another template":         {"apiVersion: v1\nkind: Pod\n{{- if .X }}\n", "helm template"},
		"a template that resolves": {"Resources: {A: {Type: T, Properties: {P: '{{resolve:ssm:x}}', apiVersion: v1}}}\n", ""},
	} {
		tmpl, err := template.ParseManifest([]byte(tt.text))
		var got []string
		if tmpl != nil {
			st, bad := tmpl.Stack(template.Options{})
			golden.OK(t, bad)
			for _, r := range st.All() {
				got = append(got, r.ID+" "+r.Pos.String())
			}
		}
		if err != nil && strings.Contains(err.Error(), tt.want) && tt.want != "" {
			continue
		}
		if list := strings.Join(got, ", "); err != nil || list != tt.want {
			t.Errorf("%s: %q, %v, want %s", name, list, err, tt.want)
		}
	}
}
