package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
)

// awsProvider is the release that the module is applied with. It is validated with the newest that can be had.
const awsProvider = "5.100.0"

// pin is an override file for a root module.
const pin = `terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "` + awsProvider + `"
    }
  }
}
`

// deployed is what Terraform makes of the module. Tests in deploy compare it with template.yaml, on machines without Terraform.
const deployed = "deploy/testdata/terraform.json"

var updateDeployed bool

func terraformFlags(f *flag.FlagSet) {
	f.BoolVar(&updateDeployed, "update", false, "write "+deployed)
}

// checkTerraform runs the module deploy/terraform with Terraform, and with OpenTofu if it is there: fmt, validate, plans of
// values at the bounds of the variables and above, apply against moto's server in place of AWS. sqsbatch lint finds nothing
// in plans and states.
//
// It needs terraform or tofu on the path, the AWS provider, which they fetch or find as their CLI configuration says, and
// for moto Python 3 with its venv module, and PyPI on the first use.
func checkTerraform(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	var programs []string
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			programs = append(programs, path)
		}
	}
	if len(programs) == 0 {
		return fmt.Errorf("%w: neither terraform nor tofu is on the path", tools.ErrNotRun)
	}
	lambda := buildZip(ctx, s)
	linter := filepath.Join(s.Tmp, "sqsbatch")
	must.Get(s.Go(ctx, s.Root, "build", "-o", linter, "./cmd/sqsbatch"))
	sam := must.Get(tools.InstallSAM(ctx))
	for _, program := range programs {
		s.Step(filepath.Base(program), func() (err error) {
			defer must.Return(&err)
			t := &terraform{stage: s, program: program, linter: linter, zip: lambda, dir: filepath.Join(s.Tmp, filepath.Base(program))}
			t.server = must.Get(tools.StartMoto(ctx, s, sam, "test/compat/programs/moto_terraform.py"))
			defer t.server.Stop()
			ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
			defer cancel()
			t.check(ctx)
			return nil
		})
	}
	return nil
}

// buildZip runs the commands of the page that make the function's zip file.
func buildZip(ctx context.Context, s *tools.Stage) string {
	page := must.Get(os.ReadFile(filepath.Join(s.Root, "docs", "deploying", "terraform.md")))
	zip := filepath.Join(s.Tmp, "orders.zip")
	ran := 0
	for _, c := range commands(string(page)) {
		if strings.Contains(c, " bootstrap") {
			c = strings.NewReplacer(" bootstrap", " '"+s.Tmp+"/bootstrap'", "orders.zip", "'"+zip+"'").Replace(c)
			cmd := exec.CommandContext(ctx, "bash", "-c", c)
			cmd.Dir = s.Root
			must.Get(s.Log.Run(cmd))
			ran++
		}
	}
	if ran != 2 {
		must.Failf("docs/deploying/terraform.md has %d commands that make the zip file, want 2", ran)
	}
	return zip
}

// A terraform is Terraform or OpenTofu with a copy of the module, as a root module.
type terraform struct {
	stage                     *tools.Stage
	program, linter, zip, dir string
	server                    *tools.Moto
}

func (t *terraform) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Dir = t.dir
	cmd.Env = tools.Environment("AWS_ENDPOINT_URL="+t.server.URL, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color", "CHECKPOINT_DISABLE=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends the provider
	cmd.WaitDelay = time.Minute
	return cmd
}

func (t *terraform) run(ctx context.Context, args ...string) string {
	return must.Get(t.stage.Log.Run(t.command(ctx, args...)))
}

func (t *terraform) check(ctx context.Context) {
	files := must.Get(filepath.Glob(filepath.Join(t.stage.Root, "deploy", "terraform", "*.tf")))
	must.Do(os.Mkdir(t.dir, 0o755))
	for _, file := range files {
		must.Do(os.WriteFile(filepath.Join(t.dir, filepath.Base(file)), must.Get(os.ReadFile(file)), 0o644))
	}
	t.run(ctx, "fmt", "-check", "-diff")
	t.init(ctx)
	t.validate(ctx)
	must.Do(os.WriteFile(filepath.Join(t.dir, "versions_override.tf"), []byte(pin), 0o644))
	t.init(ctx, "-upgrade")
	t.bounds(ctx)
	t.deploy(ctx)
	t.page(ctx)
}

// init fetches the provider, or finds it.
func (t *terraform) init(ctx context.Context, args ...string) {
	_, err := t.stage.Log.Run(t.command(ctx, append([]string{"init"}, args...)...))
	if err != nil && regexp.MustCompile(`(?i)could not connect|failed to query available|failed to install provider|could not query`).MatchString(err.Error()) {
		must.Failf("%w: %s cannot get the AWS provider: %w", tools.ErrNotRun, filepath.Base(t.program), err)
	}
	must.Do(err)
}

// validate fails for warnings, too: what is deprecated goes away.
func (t *terraform) validate(ctx context.Context) {
	var result struct {
		Diagnostics []struct{ Severity, Summary, Detail string }
	}
	must.Do(json.Unmarshal([]byte(t.run(ctx, "validate", "-json")), &result))
	for _, d := range result.Diagnostics {
		must.Failf("%s: %s: %s", d.Severity, d.Summary, d.Detail)
	}
	var version struct {
		Selections map[string]string `json:"provider_selections"`
	}
	must.Do(json.Unmarshal([]byte(t.run(ctx, "version", "-json")), &version))
	fmt.Printf("valid, without warnings, with %v\n", version.Selections)
}

// A value of a variable.
type value struct{ name, text string }

func (t *terraform) plan(ctx context.Context, values []value, args ...string) (string, error) {
	args = append([]string{"plan", "-lock=false", "-var", "filename=" + t.zip}, args...)
	for _, v := range values {
		args = append(args, "-var", v.name+"="+v.text)
	}
	return t.stage.Log.Run(t.command(ctx, args...))
}

// refused fails unless a plan fails, for each of these reasons.
func (t *terraform) refused(ctx context.Context, values []value, reasons []string, args ...string) {
	out, err := t.plan(ctx, values, append(args, "-json")...)
	for _, reason := range reasons {
		if err == nil || !strings.Contains(out, reason) {
			must.Failf("a plan with %v %v is not refused with %q: %v", values, args, reason, err)
		}
	}
}

var (
	bound  = regexp.MustCompile(`var\.(\w+) (>=|<=) (\d+)`)
	choice = regexp.MustCompile(`contains\(\[.*\], var\.(\w+)\)`)
)

// bounds plans with each variable at its bounds, and beyond them.
func (t *terraform) bounds(ctx context.Context) {
	text := string(must.Get(os.ReadFile(filepath.Join(t.dir, "variables.tf"))))
	at, beyond := map[string][]value{}, map[string][]value{">=": {{"name", "a b"}}, "<=": {{"name", strings.Repeat("a", 65)}}}
	for _, m := range bound.FindAllStringSubmatch(text, -1) {
		n := must.Get(strconv.Atoi(m[3]))
		out := map[string]int{">=": n - 1, "<=": n + 1}[m[2]]
		at[m[2]] = append(at[m[2]], value{m[1], m[3]})
		beyond[m[2]] = append(beyond[m[2]], value{m[1], strconv.Itoa(out)})
	}
	for _, m := range choice.FindAllStringSubmatch(text, -1) {
		beyond[">="] = append(beyond[">="], value{m[1], "info"})
	}
	for side, values := range beyond {
		must.Get(t.plan(ctx, append(at[side], value{"name", strings.Repeat("a", 64)})))
		var names []string
		for _, v := range values {
			names = append(names, `variable \"`+v.name+`\"`)
		}
		t.refused(ctx, values, names)
	}
	for _, c := range []struct {
		values []value
		want   string
	}{
		{[]value{{"batch_size", "11"}}, "A batch_size above 10 needs a batch_window"},
		{[]value{{"batch_size", "11"}, {"batch_window", "1"}, {"fifo", "true"}}, "On a FIFO queue batch_size is at most 10"},
	} {
		t.refused(ctx, append(c.values, value{"name", "orders"}), []string{c.want})
	}
	fmt.Printf("%d values beyond bounds are refused, those at bounds are planned\n", len(beyond[">="])+len(beyond["<="]))
}

// A deployment is the variables, and what they make: the attributes that the module sets, by the addresses of resources.
type deployment struct {
	Variables map[string]string         `json:"variables"`
	Resources map[string]map[string]any `json:"resources"`
	Outputs   map[string]any            `json:"outputs"`
	state     string
}

func (d *deployment) values() (list []value) {
	for name, text := range d.Variables {
		list = append(list, value{name, text})
	}
	return list
}

// A record is the file deployed.
type record struct {
	Files       string        `json:"files"` // a hash
	Deployments []*deployment `json:"deployments"`
}

// deploy applies each of the deployments of the file, side by side, since the provider waits half a minute for each change of a
// queue. What there is must be what the file has.
func (t *terraform) deploy(ctx context.Context) {
	path := filepath.Join(t.stage.Root, filepath.FromSlash(deployed))
	before := must.Get(os.ReadFile(path))
	var all record
	must.Do(json.Unmarshal(before, &all))
	all.Files = must.Get(docpage.HashTerraform(filepath.Join(t.stage.Root, "deploy", "terraform")))
	errs := make([]error, len(all.Deployments))
	var wait sync.WaitGroup
	for i, d := range all.Deployments {
		d.state = fmt.Sprintf("%d.tfstate", i)
		wait.Go(func() { errs[i] = must.Run(func() { t.apply(ctx, d) }) })
	}
	wait.Wait()
	must.Do(errors.Join(errs...))
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	must.Do(e.Encode(all))
	now := strings.ReplaceAll(text.String(), t.server.URL, "https://sqs.us-east-1.amazonaws.com")
	if now != string(before) {
		if !updateDeployed {
			must.Failf("%s is not what is deployed: go run ./test/compat terraform -update", deployed)
		}
		must.Do(os.WriteFile(path, []byte(now), 0o644))
	}
	fmt.Printf("%d deployments are as %s has them, sqsbatch lint finds nothing in their plans and states\n", len(all.Deployments), deployed)
	t.changes(ctx, all.Deployments[0])
}

// apply makes a deployment. Then nothing is left to do.
func (t *terraform) apply(ctx context.Context, d *deployment) {
	state, plan := "-state="+d.state, d.state+".plan"
	must.Get(t.plan(ctx, d.values(), state, "-out="+plan))
	planned := t.show(ctx, plan)
	t.run(ctx, "apply", state, plan)
	now := t.show(ctx, d.state)
	if _, err := t.plan(ctx, d.values(), state, "-detailed-exitcode"); err != nil {
		must.Failf("a second plan is not empty: %w", err)
	}
	set := map[string][]string{} // attributes
	for _, r := range planned.Configuration.Root.Resources {
		for name := range r.Expressions {
			set[r.Address] = append(set[r.Address], name)
		}
	}
	d.Resources, d.Outputs = map[string]map[string]any{}, map[string]any{}
	for _, r := range now.Values.Root.Resources {
		address, _, _ := strings.Cut(r.Address, "[")
		for name, v := range r.Values {
			if r.Mode != "managed" || v == nil || !slices.Contains(set[address], name) || slices.Contains([]string{"filename", "source_code_hash"}, name) {
				continue
			}
			if d.Resources[r.Address] == nil {
				d.Resources[r.Address] = map[string]any{}
			}
			d.Resources[r.Address][name] = v
		}
	}
	for name, output := range now.Values.Outputs {
		d.Outputs[name] = output.Value
	}
}

// printed is what there is in the JSON of a plan or a state.
type printed struct {
	Changes []struct {
		Address string
		Change  struct{ Actions []string }
	} `json:"resource_changes"`
	Configuration struct {
		Root struct {
			Resources []struct {
				Address     string
				Expressions map[string]any
			}
		} `json:"root_module"`
	}
	Values struct {
		Outputs map[string]struct{ Value any }
		Root    struct {
			Resources []struct {
				Address, Mode string
				Values        map[string]any
			}
		} `json:"root_module"`
	}
}

// show reads a plan or a state, in which sqsbatch lint must find nothing.
func (t *terraform) show(ctx context.Context, file string) (s printed) {
	text := t.run(ctx, "show", "-json", file)
	lint := exec.CommandContext(ctx, t.linter, "lint", "--verbose", "-")
	lint.Stdin = strings.NewReader(text)
	must.Get(t.stage.Log.Run(lint))
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	must.Do(d.Decode(&s))
	return s
}

// changes plans changes of a deployment: settings change in place, and nothing makes Terraform delete a queue.
func (t *terraform) changes(ctx context.Context, d *deployment) {
	state := "-state=" + d.state
	settings := []value{{"function_timeout", "20"}, {"memory_size", "512"}, {"batch_size", "9"}, {"batch_window", "5"}, {"maximum_concurrency", "5"},
		{"max_receive_count", "9"}, {"log_level", "DEBUG"}, {"oldest_message_seconds", "2000"}, {"alarm_topic_arn", "arn:aws:sns:us-east-1:123456789012:pager"},
		{"enabled", "false"}, {"environment", `{"A":"b"}`}, {"tags", `{"team":"orders"}`}, {"kms_key_arn", "arn:aws:kms:us-east-1:123456789012:key/1"},
		{"policies", `{"more":"{}"}`}, {"architecture", "x86_64"}}
	must.Get(t.plan(ctx, append(d.values(), settings...), state, "-out=changed.plan"))
	for _, c := range t.show(ctx, "changed.plan").Changes {
		if slices.Contains(c.Change.Actions, "delete") {
			must.Failf("a change of settings deletes %s: %v", c.Address, c.Change.Actions)
		}
	}
	for _, replace := range [][]value{{{"name", "others"}}, {{"fifo", "true"}}} {
		t.refused(ctx, append(d.values(), replace...), []string{"prevent_destroy"}, state)
	}
	t.refused(ctx, d.values(), []string{"prevent_destroy"}, state, "-destroy")
	fmt.Println("settings change in place; a plan that would delete a queue is refused")
}

var (
	hcl    = regexp.MustCompile("(?ms)^ *```hcl\n(.*?)^ *```$")
	module = regexp.MustCompile(`(?ms)^module "orders" \{.*?^\}\n`)
)

// page plans the configurations that docs/deploying/terraform.md shows: a root module, the same with another module block, an
// import of queues that there are, and what keeps the queues without the module. So it does with the starter's.
func (t *terraform) page(ctx context.Context) {
	text := string(must.Get(os.ReadFile(filepath.Join(t.stage.Root, "docs", "deploying", "terraform.md"))))
	const source = `"github.com/sqsbatch/sqsbatch//deploy/terraform?ref=v0.1.0"`
	queues := t.server.URL + "/123456789012/orders-orders"
	text = strings.NewReplacer(source, strconv.Quote(filepath.Join(t.stage.Root, "deploy", "terraform")), `"orders.zip"`, strconv.Quote(t.zip),
		"eu-west-1", "us-east-1", `"QUEUE_URL"`, strconv.Quote(queues), `"DEAD_LETTER_QUEUE_URL"`, strconv.Quote(queues+"-dead")).Replace(text)
	var blocks []string
	for _, m := range hcl.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 4 {
		must.Failf("docs/deploying/terraform.md has %d blocks of HCL, want 4", len(blocks))
	}
	root, handler, removed, imported := blocks[0], blocks[1], blocks[2], blocks[3]
	starter := string(must.Get(os.ReadFile(filepath.Join(t.stage.Root, "starter", "{{cookiecutter.project_name}}", "main.tf"))))
	starter = strings.NewReplacer(source, strconv.Quote(filepath.Join(t.stage.Root, "deploy", "terraform")), `"build/function.zip"`, strconv.Quote(t.zip),
		"{{ cookiecutter.project_name }}", "signups").Replace(starter)
	for name, c := range map[string]struct {
		text string
		want string // in the plan
	}{
		"root":    {root, "Plan: 13 to add, 0 to change, 0 to destroy"},
		"handler": {module.ReplaceAllLiteralString(root, handler), "Plan: 15 to add, 0 to change, 0 to destroy"},
		"import":  {strings.Replace(root, `name            = "orders"`, `name = "orders-orders"`, 1) + imported, "Plan: 2 to import, 11 to add, 0 to change, 0 to destroy"},
		"removed": {removed, "No changes"},
		"starter": {starter, "Plan: 12 to add, 0 to change, 0 to destroy"},
	} {
		p := *t
		p.dir = filepath.Join(t.dir, name)
		must.Do(os.Mkdir(p.dir, 0o755))
		must.Do(os.WriteFile(filepath.Join(p.dir, "main.tf"), []byte(c.text), 0o644))
		if name != "removed" {
			must.Do(os.WriteFile(filepath.Join(p.dir, "main_override.tf"), []byte(pin), 0o644))
		}
		p.init(ctx)
		if plan := p.run(ctx, "plan", "-out=plan"); !strings.Contains(plan, c.want) || strings.Contains(plan, "Warning:") {
			must.Failf("%s: its plan is not %q without warnings:\n%s", name, c.want, plan)
		}
		p.show(ctx, "plan")
	}
	fmt.Println("the page and the starter are planned as they say")
}
