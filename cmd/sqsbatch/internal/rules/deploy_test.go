package rules_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

const deploy = "../../../../deploy"

const module = "github.com/sqsbatch/sqsbatch/"

// packages are those of this module that a package imports, directly or not,
// and itself; what is only reached through the package not is not among them.
func packages(t *testing.T, from, not string) []string {
	t.Helper()
	found := []string{from}
	for i := 0; i < len(found); i++ {
		p, err := build.ImportDir("../"+found[i], 0)
		golden.OK(t, err)
		for _, name := range p.Imports {
			if strings.HasSuffix(path.Dir(name), "aws-sdk-go-v2/service") && path.Base(name) != "sqs" {
				t.Errorf("%s calls the service %s: which permissions does that take?", found[i], path.Base(name))
			}
			if dir, ours := strings.CutPrefix(name, module); ours && dir != not && !slices.Contains(found, dir) {
				found = append(found, dir)
			}
		}
	}
	return found
}

// called are the permissions that the SQS operations in these packages take: a
// method of the SDK's client that is named anywhere in them is called. A batch
// operation takes the permission of the single one ("Actions, resources, and
// condition keys for Amazon SQS").
func called(t *testing.T, dirs []string) (permissions []rules.Permission) {
	t.Helper()
	client := reflect.TypeFor[*sqs.Client]()
	for _, dir := range dirs {
		for _, file := range sources(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok || selector.Sel.Name == "Options" { // the client's own, no operation
					return true
				}
				if _, ok := client.MethodByName(selector.Sel.Name); !ok {
					return true
				}
				p := rules.Permission{Action: "sqs:" + strings.TrimSuffix(selector.Sel.Name, "Batch"), On: rules.OnQueue}
				if p.Action == "sqs:SendMessage" {
					p.On = rules.OnDeadLetters // there is nothing else to send
				}
				permissions = append(permissions, p)
				return true
			})
		}
	}
	return permissions
}

// The permissions that roles are held against are those that the code takes. What is
// not called here: the poller's calls with the function's role, and the log.
func TestPermissionsAreWhatIsCalled(t *testing.T) {
	t.Chdir(deploy)
	for name, c := range map[string]struct {
		called, others, table []rules.Permission
	}{
		"function": {called(t, packages(t, "handler", "internal/longpoll")), []rules.Permission{
			{Action: "sqs:ReceiveMessage", On: rules.OnQueue}, {Action: "sqs:DeleteMessage", On: rules.OnQueue}, {Action: "sqs:GetQueueAttributes", On: rules.OnQueue},
			{Action: "logs:CreateLogStream", On: rules.OnLog}, {Action: "logs:PutLogEvents", On: rules.OnLog},
		}, rules.OfFunction},
		"container": {called(t, packages(t, "internal/longpoll", "")), []rules.Permission{
			{Action: "kms:Decrypt", On: rules.OnKey}, {Action: "kms:GenerateDataKey", On: rules.OnKey},
		}, append([]rules.Permission{{Action: "sqs:GetQueueUrl", On: rules.OnQueue}}, rules.OfContainer...)}, // of a queue that is given by its name
	} {
		want, got := map[rules.Permission]bool{}, map[rules.Permission]bool{}
		for _, p := range append(c.called, c.others...) {
			want[p] = true
		}
		for _, p := range c.table {
			got[p] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: lint has\n %v\nwant\n %v", name, got, want)
		}
	}
}

// docs/security.md names these permissions, and no others, for the roles that need them.
func TestThePageHasThePermissions(t *testing.T) {
	t.Chdir(deploy)
	_, table, _ := docpage.Section(t, "../docs/security.md", "permissions")
	resources := map[string]string{"the queue": rules.OnQueue, "the dead-letter queue": rules.OnDeadLetters, "the key": rules.OnKey, "the log group": rules.OnLog}
	got := map[string][]rules.Permission{}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(row, "|")
		on, known := resources[strings.TrimSpace(cells[2])]
		if !known {
			t.Errorf("unknown resource in %s", row)
		}
		for _, role := range strings.Fields(cells[3]) {
			got[role] = append(got[role], rules.Permission{Action: strings.Trim(cells[1], " `"), On: on})
		}
	}
	want := map[string][]rules.Permission{
		"F": append([]rules.Permission{{Action: "kms:Decrypt", On: rules.OnKey}, {Action: "kms:GenerateDataKey", On: rules.OnKey}}, rules.OfFunction...),
		"C": append([]rules.Permission{{Action: "sqs:GetQueueUrl", On: rules.OnQueue}}, rules.OfContainer...),
	}
	order := func(a, b rules.Permission) int { return strings.Compare(a.Action+a.On, b.Action+b.On) }
	for role, permissions := range want {
		permissions = slices.SortedFunc(slices.Values(permissions), order)
		if page := slices.SortedFunc(slices.Values(got[role]), order); !slices.Equal(page, permissions) {
			t.Errorf("the page has for %s\n %v\nwant\n %v", role, page, permissions)
		}
	}
}

// A deployedRole is one of a template, with what its resources are for.
type deployedRole struct {
	file, role string
	other      string // role
	parameters map[string]string
	needs      []rules.Permission
	arns       map[string]string // of what it is for
}

const arn = "arn:aws:sqs:us-east-1:000000000000:"

var (
	deployedRoles = []deployedRole{
		{file: "../template.yaml", role: "OrdersFunctionRole", needs: rules.OfFunction, arns: map[string]string{
			rules.OnQueue: arn + "local-orders", rules.OnDeadLetters: arn + "local-orders-dead", rules.OnLog: "${OrdersFunctionLogs.Arn}",
		}},
		{file: "ecs.yaml", role: "TaskRole", other: "ExecutionRole", parameters: containerParameters, needs: rules.OfContainer, arns: containerARNs},
		{file: "kubernetes/role.yaml", role: "Role", parameters: containerParameters, needs: rules.OfContainer, arns: containerARNs},
	}
	containerARNs       = map[string]string{rules.OnQueue: arn + "orders", rules.OnDeadLetters: arn + "dead", rules.OnKey: "arn:aws:kms:us-east-1:000000000000:key/1"}
	containerParameters = map[string]string{
		"QueueArn": containerARNs[rules.OnQueue], "DeadLetterQueueArn": containerARNs[rules.OnDeadLetters], "KmsKeyArn": containerARNs[rules.OnKey],
	}
)

// wrong are what a role allows too much or too little, anywhere.
func (d deployedRole) wrong(t *testing.T, text string) (wrong []string) {
	t.Helper()
	st := stack(t, text, template.Options{Parameters: d.parameters})
	functions, err := st.Resources(template.SAMFunction)
	golden.OK(t, err)
	for _, f := range functions {
		if f.Get("Role").Absent() || !f.Get("Policies").Absent() {
			wrong = append(wrong, "SAM gives "+f.ID+" policies of its own")
		}
	}
	identities, err := st.Resources("AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group")
	golden.OK(t, err)
	for _, r := range identities {
		if r.ID != d.role && r.ID != d.other {
			wrong = append(wrong, "there is also "+r.ID)
		}
	}
	role, _ := st.Resource(d.role)
	grants, err := rules.Grants(st, role)
	if err != nil {
		return append(wrong, err.Error())
	}
	if len(grants) != len(d.needs) {
		wrong = append(wrong, fmt.Sprintf("%d permissions, want %d: %v", len(grants), len(d.needs), grants))
	}
	for _, f := range rules.CheckRole(rules.Role{Resource: role, Grants: grants, Needs: d.needs, ARNs: d.arns}) {
		wrong = append(wrong, f.ID+" "+f.Message)
	}
	return wrong
}

// Each role allows what is called, where it is called, and nothing else. That
// SAM adds nothing is seen in its translation: test/compat/sam.go.
func TestRolesAllowWhatIsCalled(t *testing.T) {
	t.Chdir(deploy)
	for _, d := range deployedRoles {
		for _, w := range d.wrong(t, docpage.Read(t, d.file)) {
			t.Errorf("%s: %s", d.file, w)
		}
	}
}

// sources are the files of a package of this module, without its tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	golden.OK(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		golden.OK(t, err)
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("no package in %s", dir)
	}
	return files
}

// What neither parameters nor conditions change: the rules of lint find nothing.
// TestTemplate… has template.yaml.
func TestTemplates_HaveNoFinding(t *testing.T) {
	t.Chdir(deploy)
	for _, c := range []struct {
		file       string
		parameters map[string]string
	}{
		{"queue.yaml", nil}, {"queue.yaml", map[string]string{"Fifo": "true"}}, {"monitoring.yaml", nil},
		{"ecs.yaml", containerParameters}, {"kubernetes/role.yaml", containerParameters},
	} {
		if found := check(t, docpage.Read(t, c.file), template.Options{Parameters: c.parameters}).Findings; len(found) > 0 {
			t.Errorf("%s: %v", c.file, found)
		}
	}
	short := strings.Replace(docpage.Read(t, "queue.yaml"), "Default: 1800", "Default: 240", 1) // 60 s × 5 receives
	if found := checkText(t, short).Findings; len(found) != 1 || found[0].ID != "SB501" {
		t.Errorf("a short alarm on age: %v", found)
	}
}
