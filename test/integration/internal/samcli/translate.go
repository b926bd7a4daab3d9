package samcli

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

//go:embed translate.py
var translate string

// A Template is one in JSON, with intrinsic functions in their long form.
type Template struct {
	Text      []byte `json:"-"`
	Resources map[string]struct {
		Type       string
		Properties any
	}
}

// Of are the properties of the resources whose type begins so.
func (t *Template) Of(kind string) map[string]any {
	found := map[string]any{}
	for id, r := range t.Resources {
		if strings.HasPrefix(r.Type, kind) {
			found[id] = r.Properties
		}
	}
	return found
}

// Translate returns a SAM template as it is, and as SAM's own translator makes it
// CloudFormation. Parameters have their defaults.
func (c *CLI) Translate(ctx context.Context, path string) (source, plain *Template, err error) {
	cmd := c.env.Command(ctx, "-c", translate, path)
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION=us-east-1")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return nil, nil, fmt.Errorf("translate %s: %w", path, err)
	}
	var both struct{ Source, Plain json.RawMessage }
	if err := json.Unmarshal(out, &both); err != nil {
		return nil, nil, err
	}
	source, plain = &Template{Text: both.Source}, &Template{Text: both.Plain}
	if err := json.Unmarshal(both.Source, source); err != nil {
		return nil, nil, err
	}
	return source, plain, json.Unmarshal(both.Plain, plain)
}
