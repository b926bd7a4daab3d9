package samdeploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// An object is one of JSON.
type object = map[string]any

// at goes down a path of names.
func at(o object, path ...string) any {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(object)
	}
	return o[path[len(path)-1]]
}

// ask has python/describe.py say what there is of a stack, by the services' APIs; without a
// stack, what there is of any.
func (d *deployer) ask(ctx context.Context, into any, stack ...string) {
	cmd := d.cli.Python(ctx, append([]string{filepath.Join(d.stage.Root, "test", "integration", "samdeploy", "python", "describe.py")}, stack...)...)
	cmd.Env = d.environ()
	must.Do(json.Unmarshal([]byte(must.Get(d.stage.Log.Run(cmd))), into))
}

// A resource is one with its properties, as CloudFormation asks for it.
type resource struct {
	Stack, Resource string
	Properties      object
}

// resolved are the resources that were made and changed, in order.
func (d *deployer) resolved() (all []resource) {
	content, err := os.ReadFile(d.changes)
	if !errors.Is(err, os.ErrNotExist) {
		must.Do(err)
	}
	for line := range bytes.Lines(content) {
		var r resource
		must.Do(json.Unmarshal(line, &r))
		all = append(all, r)
	}
	return all
}

// property is the latest value of a resource's property.
func (d *deployer) property(stack, logicalID, name string) (found any) {
	for _, r := range d.resolved() {
		if r.Stack == stack && r.Resource == logicalID {
			found = r.Properties[name]
		}
	}
	return found
}
