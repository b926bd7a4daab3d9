package template

import (
	"cmp"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// function reads a function resource.
func (st *Stack) function(d *Deployment, f Resource) error {
	r := st.reader()
	name, err := f.functionName()
	d.Function = Function{
		Resource:         f,
		LogicalID:        f.ID,
		Name:             read(&r, name, err),
		Timeout:          time.Duration(r.number(f.Get("Timeout"), 3)) * time.Second,
		ManagedInstances: !f.Get("CapacityProviderConfig").Absent(),
		MemoryMB:         r.number(f.Get("MemorySize"), 128),
		LogLevel:         r.str(f.Get("LoggingConfig", "ApplicationLogLevel")),
	}
	if v := f.Get("ReservedConcurrentExecutions"); !v.Absent() {
		if n, err := v.Int(0); read(&r, err == nil, err) {
			d.Function.ReservedConcurrency = &n
		}
	}
	d.Function.CodeDir = st.codeDir(&r, f)
	if err := cmp.Or(r.err, st.environment(d)); err != nil || st.lenient {
		return err
	}
	return d.Function.check()
}

// check holds the function against Lambda's bounds.
func (f *Function) check() error {
	longest := 900 * time.Second
	if f.ManagedInstances {
		longest = 5400 * time.Second
	}
	if f.Timeout < time.Second || f.Timeout > longest {
		return f.Resource.Get("Timeout").Pos.errorf("Timeout of %s is %d; Lambda takes 1 to 900 seconds, with a CapacityProviderConfig up to 5400", f.LogicalID, f.Timeout/time.Second)
	}
	if f.MemoryMB < 128 || f.MemoryMB > 10240 {
		return f.Resource.Get("MemorySize").Pos.errorf("MemorySize of %s is %d; Lambda takes 128 to 10240 MB", f.LogicalID, f.MemoryMB)
	}
	return nil
}

// codeDir is CodeUri (SAM) or Code (CloudFormation) that is a local directory.
func (st *Stack) codeDir(r *reader, f Resource) string {
	v := f.Get("CodeUri")
	if v.Absent() {
		v = f.Get("Code")
	}
	if v.node != nil && v.node.Kind != yaml.ScalarNode {
		return "" // in a bucket
	}
	dir := r.str(v)
	switch {
	case dir == "" && v.Absent(), strings.Contains(dir, "://"):
		return ""
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	}
	return filepath.Join(filepath.Dir(st.Path), filepath.FromSlash(dir))
}

// environment merges the variables of Globals and of the function, whose own come
// first. A variable that is not known locally is left out, with a finding.
func (st *Stack) environment(d *Deployment) error {
	f, vars := d.Function.Resource, map[string]string{}
	d.Function.Environment = vars
	layers := []Value{f.value.Get("Properties")}
	if f.Type == SAMFunction {
		layers = []Value{f.global(), layers[0]}
	}
	for _, layer := range layers {
		in := layer.Get("Environment", "Variables")
		if in.node != nil && in.node.Kind != yaml.MappingNode {
			in.Err = st.errorf(in.node, "Variables must be a mapping of names to values, not %s", kind(in.node))
		}
		if in.Err != nil && !st.lenient {
			return in.Err
		}
		for name, v := range in.Entries() {
			delete(vars, name)
			s, err := v.Str()
			if err != nil {
				d.found(v.Pos, "environment variable %s is not set: %s", name, Reason(v.Pos, err))
			} else if !v.Absent() {
				vars[name] = s
			}
		}
	}
	maps.Copy(vars, st.o.Environment)
	return nil
}
