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
