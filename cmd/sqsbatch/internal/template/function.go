package template

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// function reads a function resource. Environment variables that cannot be
// known locally are left out, each with a warning.
func (e *evaluator) function(r resource) (Function, []string, error) {
	f := Function{LogicalID: r.id}
	in := layers{child(r.node, "Properties")}
	if resourceType(r.node) == typeSAMFunction {
		in = append(in, child(child(e.t.root, "Globals"), "Function"))
	}
	var err error
	if f.Name, err = e.functionName(r.id, r.node); err != nil {
		return f, nil, err
	}
	seconds, err := e.getNumber(in, 3, "Timeout")
	if err != nil {
		return f, nil, err
	}
	capacity, err := e.get(in, "CapacityProviderConfig")
	if err != nil {
		return f, nil, err
	}
	f.ManagedInstances = capacity != nil
	longest := 900
	if f.ManagedInstances {
		longest = 5400
	}
	if seconds < 1 || seconds > longest {
		return f, nil, e.errorf(r.node, "Timeout of %s is %d; Lambda takes 1 to 900 seconds, with a CapacityProviderConfig up to 5400", r.id, seconds)
	}
	f.Timeout = time.Duration(seconds) * time.Second
	if f.MemoryMB, err = e.getNumber(in, 128, "MemorySize"); err != nil {
		return f, nil, err
	}
	if f.MemoryMB < 128 || f.MemoryMB > 10240 {
		return f, nil, e.errorf(r.node, "MemorySize of %s is %d; Lambda takes 128 to 10240 MB", r.id, f.MemoryMB)
	}
	if f.LogFormat, err = e.getString(in, "LoggingConfig", "LogFormat"); err != nil {
		return f, nil, err
	}
	if f.LogLevel, err = e.getString(in, "LoggingConfig", "ApplicationLogLevel"); err != nil {
		return f, nil, err
	}
	if v, err := e.get(in, "ReservedConcurrentExecutions"); err != nil {
		return f, nil, err
	} else if v != nil {
		n, err := e.number(v, "ReservedConcurrentExecutions")
		if err != nil {
			return f, nil, err
		}
		f.ReservedConcurrency = &n
	}
	if f.BuildMethod, err = e.getString(layers{child(r.node, "Metadata")}, "BuildMethod"); err != nil {
		return f, nil, err
	}
	if f.CodeDir, err = e.codeDir(in); err != nil {
		return f, nil, err
	}
	var warnings []string
	f.Environment, warnings, err = e.environment(in)
	return f, warnings, err
}

// codeDir is CodeUri (SAM) or Code (CloudFormation, as `package` takes it)
// when it names a local directory.
func (e *evaluator) codeDir(in layers) (string, error) {
	v, err := e.get(in, "CodeUri")
	if v == nil && err == nil {
		v, err = e.get(in, "Code")
	}
	if v == nil || err != nil || v.Kind != yaml.ScalarNode || strings.Contains(v.Value, "://") {
		return "", err
	}
	if filepath.IsAbs(v.Value) {
		return filepath.Clean(v.Value), nil
	}
	return filepath.Join(filepath.Dir(e.t.Path), filepath.FromSlash(v.Value)), nil
}

// environment merges the variables of all layers, the first layer winning.
func (e *evaluator) environment(in layers) (map[string]string, []string, error) {
	vars := map[string]string{}
	var warnings []string
	for i := len(in) - 1; i >= 0; i-- {
		m, err := e.path(in[i], "Environment", "Variables")
		if err != nil {
			return nil, nil, err
		}
		if m == nil {
			continue
		}
		if m.Kind != yaml.MappingNode {
			return nil, nil, e.errorf(m, "Variables must be a mapping of names to values, not %s", kind(m))
		}
		for k := 0; k+1 < len(m.Content); k += 2 {
			name := m.Content[k].Value
			v, err := e.eval(m.Content[k+1])
			if err == nil && absent(v) {
				delete(vars, name)
				continue
			}
			var s string
			if err == nil {
				s, err = e.str(v)
			}
			if err != nil {
				delete(vars, name)
				warnings = append(warnings, fmt.Sprintf("environment variable %s is not set: %v", name, err))
				continue
			}
			vars[name] = s
		}
	}
	return vars, warnings, nil
}
