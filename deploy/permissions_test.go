package deploy_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
	"github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

const module = "github.com/sqsbatch/sqsbatch/"

// packages are those of this module that a package imports, directly or not,
// and itself; what is only reached through the package not is not among them.
func packages(t *testing.T, from, not string) []string {
	t.Helper()
	found := []string{from}
	for i := 0; i < len(found); i++ {
		p, err := build.ImportDir("../"+found[i], 0)
		if err != nil {
			t.Fatal(err)
		}
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
func called(t *testing.T, dirs []string) (permissions []lint.Permission) {
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
				p := lint.Permission{Action: "sqs:" + strings.TrimSuffix(selector.Sel.Name, "Batch"), On: lint.OnQueue}
				if p.Action == "sqs:SendMessage" {
					p.On = lint.OnDeadLetters // there is nothing else to send
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
	for name, c := range map[string]struct {
		called, others, table []lint.Permission
	}{
		"function": {called(t, packages(t, "handler", "internal/longpoll")), []lint.Permission{
			{Action: "sqs:ReceiveMessage", On: lint.OnQueue}, {Action: "sqs:DeleteMessage", On: lint.OnQueue}, {Action: "sqs:GetQueueAttributes", On: lint.OnQueue},
			{Action: "logs:CreateLogStream", On: lint.OnLog}, {Action: "logs:PutLogEvents", On: lint.OnLog},
		}, lint.OfFunction},
		"container": {called(t, packages(t, "internal/longpoll", "")), []lint.Permission{
			{Action: "kms:Decrypt", On: lint.OnKey}, {Action: "kms:GenerateDataKey", On: lint.OnKey},
		}, append([]lint.Permission{{Action: "sqs:GetQueueUrl", On: lint.OnQueue}}, lint.OfContainer...)}, // of a queue that is given by its name
	} {
		want, got := map[lint.Permission]bool{}, map[lint.Permission]bool{}
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
	_, table, _ := docpage.Section(t, "../docs/security.md", "permissions")
	resources := map[string]string{"the queue": lint.OnQueue, "the dead-letter queue": lint.OnDeadLetters, "the key": lint.OnKey, "the log group": lint.OnLog}
	got := map[string][]lint.Permission{}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(row, "|")
		on, known := resources[strings.TrimSpace(cells[2])]
		if !known {
			t.Errorf("unknown resource in %s", row)
		}
		for _, role := range strings.Fields(cells[3]) {
			got[role] = append(got[role], lint.Permission{Action: strings.Trim(cells[1], " `"), On: on})
		}
	}
	want := map[string][]lint.Permission{
		"F": append([]lint.Permission{{Action: "kms:Decrypt", On: lint.OnKey}, {Action: "kms:GenerateDataKey", On: lint.OnKey}}, lint.OfFunction...),
		"C": append([]lint.Permission{{Action: "sqs:GetQueueUrl", On: lint.OnQueue}}, lint.OfContainer...),
	}
	order := func(a, b lint.Permission) int { return strings.Compare(a.Action+a.On, b.Action+b.On) }
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
	needs      []lint.Permission
	arns       map[string]string // of what it is for
}

const arn = "arn:aws:sqs:us-east-1:000000000000:"

var (
	deployedRoles = []deployedRole{
		{file: "../template.yaml", role: "OrdersFunctionRole", needs: lint.OfFunction, arns: map[string]string{
			lint.OnQueue: arn + "local-orders", lint.OnDeadLetters: arn + "local-orders-dead", lint.OnLog: "${OrdersFunctionLogs.Arn}",
		}},
		{file: "ecs/service.yaml", role: "TaskRole", other: "ExecutionRole", parameters: containerParameters, needs: lint.OfContainer, arns: containerARNs},
		{file: "kubernetes/role.yaml", role: "Role", parameters: containerParameters, needs: lint.OfContainer, arns: containerARNs},
	}
	containerARNs       = map[string]string{lint.OnQueue: arn + "orders", lint.OnDeadLetters: arn + "dead", lint.OnKey: "arn:aws:kms:us-east-1:000000000000:key/1"}
	containerParameters = map[string]string{
		"QueueArn": containerARNs[lint.OnQueue], "DeadLetterQueueArn": containerARNs[lint.OnDeadLetters], "KmsKeyArn": containerARNs[lint.OnKey],
	}
)

// wrong are what a role allows too much or too little, anywhere.
func (d deployedRole) wrong(t *testing.T, text string) (wrong []string) {
	t.Helper()
	st := stack(t, text, d.parameters)
	functions, err := st.Resources(template.SAMFunction)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		if f.Get("Role").Absent() || !f.Get("Policies").Absent() {
			wrong = append(wrong, "SAM gives "+f.ID+" policies of its own")
		}
	}
	identities, err := st.Resources("AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range identities {
		if r.ID != d.role && r.ID != d.other {
			wrong = append(wrong, "there is also "+r.ID)
		}
	}
	role, _ := st.Resource(d.role)
	grants, err := lint.Grants(st, role)
	if err != nil {
		return append(wrong, err.Error())
	}
	if len(grants) != len(d.needs) {
		wrong = append(wrong, fmt.Sprintf("%d permissions, want %d: %v", len(grants), len(d.needs), grants))
	}
	for _, rule := range lint.Roles {
		for _, f := range rule.Check(lint.Role{Resource: role, Grants: grants, Needs: d.needs, ARNs: d.arns}) {
			wrong = append(wrong, f.ID+" "+f.Message)
		}
	}
	return wrong
}

// Each role allows what is called, where it is called, and nothing else. That
// SAM adds nothing is seen in its translation: test/integration/sam.
func TestRolesAllowWhatIsCalled(t *testing.T) {
	for _, d := range deployedRoles {
		for _, w := range d.wrong(t, docpage.Read(t, d.file)) {
			t.Errorf("%s: %s", d.file, w)
		}
	}
}
