package deploy_test

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

const module = "github.com/sqsbatch/sqsbatch/"

// What a permission is on.
const (
	onQueue       = "queue"
	onDeadLetters = "dead-letter queue"
	onLog         = "log"
	onKey         = "key"
)

// A permission is an action, and what it is on.
type permission struct{ Action, On string }

// ofFunction is what a function's role needs: the toolkit's calls, the pollers'
// ("Creating and configuring an Amazon SQS event source mapping"), the log.
var ofFunction = []permission{
	{"sqs:ReceiveMessage", onQueue}, {"sqs:DeleteMessage", onQueue}, {"sqs:GetQueueAttributes", onQueue},
	{"sqs:ChangeMessageVisibility", onQueue}, {"sqs:SendMessage", onDeadLetters},
	{"logs:CreateLogStream", onLog}, {"logs:PutLogEvents", onLog},
}

// ofContainer is what a program needs that polls a queue by its URL. The key is an
// encrypted queue's: "Key management" in the SQS Developer Guide.
var ofContainer = []permission{
	{"sqs:ReceiveMessage", onQueue}, {"sqs:DeleteMessage", onQueue}, {"sqs:GetQueueAttributes", onQueue},
	{"sqs:ChangeMessageVisibility", onQueue}, {"sqs:SendMessage", onDeadLetters},
	{"kms:Decrypt", onKey}, {"kms:GenerateDataKey", onKey},
}

// packages are those of this module that a package imports, directly or not,
// and itself; what is only reached through the package not is not among them.
func packages(t *testing.T, from, not string) []string {
	t.Helper()
	found := []string{from}
	for i := 0; i < len(found); i++ {
		for _, file := range sources(t, found[i]) {
			for _, spec := range file.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(path.Dir(name), "aws-sdk-go-v2/service") && path.Base(name) != "sqs" {
					t.Errorf("%s calls the service %s: which permissions does that take?", found[i], path.Base(name))
				}
				if dir, ours := strings.CutPrefix(name, module); ours && dir != not && !slices.Contains(found, dir) {
					found = append(found, dir)
				}
			}
		}
	}
	return found
}

// called are the permissions of the SQS operations that these packages name, a
// batch operation's being the single one's ("Actions, resources, and condition keys
// for Amazon SQS").
func called(t *testing.T, dirs []string) (permissions []permission) {
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
				p := permission{Action: "sqs:" + strings.TrimSuffix(selector.Sel.Name, "Batch"), On: onQueue}
				if p.Action == "sqs:SendMessage" {
					p.On = onDeadLetters // there is nothing else to send
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
		called, others, table []permission
	}{
		"function": {called(t, packages(t, "handler", "longpoll")), []permission{
			{Action: "sqs:ReceiveMessage", On: onQueue}, {Action: "sqs:DeleteMessage", On: onQueue}, {Action: "sqs:GetQueueAttributes", On: onQueue},
			{Action: "logs:CreateLogStream", On: onLog}, {Action: "logs:PutLogEvents", On: onLog},
		}, ofFunction},
		"container": {called(t, packages(t, "longpoll", "")), []permission{
			{Action: "kms:Decrypt", On: onKey}, {Action: "kms:GenerateDataKey", On: onKey},
		}, append([]permission{{Action: "sqs:GetQueueUrl", On: onQueue}}, ofContainer...)}, // of a queue that is given by its name
	} {
		want, got := map[permission]bool{}, map[permission]bool{}
		for _, p := range append(c.called, c.others...) {
			want[p] = true
		}
		for _, p := range c.table {
			got[p] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the table has\n %v\nwant\n %v", name, got, want)
		}
	}
}

// A deployedRole is one of a template, with what its resources are for.
type deployedRole struct {
	file, role string
	other      string // role
	parameters map[string]string
	needs      []permission
	arns       map[string]string // of what it is for
}

const arn = "arn:aws:sqs:us-east-1:000000000000:"

var (
	deployedRoles = []deployedRole{
		{file: "../template.yaml", role: "OrdersFunctionRole", needs: ofFunction, arns: map[string]string{
			onQueue: arn + "local-orders", onDeadLetters: arn + "local-orders-dead", onLog: "${OrdersFunctionLogs.Arn}",
		}},
		{file: "ecs/service.yaml", role: "TaskRole", other: "ExecutionRole", parameters: containerParameters, needs: ofContainer, arns: containerARNs},
		{file: "kubernetes/role.yaml", role: "Role", parameters: containerParameters, needs: ofContainer, arns: containerARNs},
	}
	containerARNs       = map[string]string{onQueue: arn + "orders", onDeadLetters: arn + "dead", onKey: "arn:aws:kms:us-east-1:000000000000:key/1"}
	containerParameters = map[string]string{
		"QueueArn": containerARNs[onQueue], "DeadLetterQueueArn": containerARNs[onDeadLetters], "KmsKeyArn": containerARNs[onKey],
	}
)

// wrong are what a role allows too much or too little, anywhere.
func (d deployedRole) wrong(t *testing.T, text string) (wrong []string) {
	t.Helper()
	tmpl, err := template.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	st, err := tmpl.Stack(template.Options{Parameters: d.parameters})
	if err != nil {
		t.Fatal(err)
	}
	functions, err := st.Resources(template.SAMFunction)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		if f.Get("Role").Absent() || !f.Get("Policies").Absent() {
			wrong = append(wrong, "SAM gives "+f.ID+" policies of its own")
		}
	}
	identities, err := st.Resources("AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group",
		"AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range identities {
		if r.ID != d.role && r.ID != d.other {
			wrong = append(wrong, "there is also "+r.ID)
		}
	}
	role, _ := st.Resource(d.role)
	got, err := grants(role)
	if err != nil {
		return append(wrong, err.Error())
	}
	var want []permission
	for _, p := range d.needs {
		want = append(want, permission{p.Action, d.arns[p.On]})
	}
	byAction := func(a, b permission) int { return strings.Compare(a.Action, b.Action) }
	slices.SortFunc(got, byAction)
	slices.SortFunc(want, byAction)
	if !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Sprintf("%s allows\n %v\nwant\n %v", d.role, got, want))
	}
	return wrong
}

// grants lists what a role allows: actions on ARNs, or on "${Resource.Attribute}".
// The error is of a role that is not made of plain statements.
func grants(role template.Resource) (list []permission, err error) {
	if !role.Get("ManagedPolicyArns").Absent() {
		return nil, errors.New(role.ID + " has managed policies")
	}
	policies, err := role.Get("Policies").List()
	for _, p := range policies {
		statements, bad := p.Get("PolicyDocument", "Statement").List()
		err = errors.Join(err, bad)
		for _, s := range statements {
			for name, value := range s.Entries() {
				effect, _ := value.Str()
				if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource"}, name) || name == "Effect" && effect != "Allow" {
					return nil, fmt.Errorf("a statement with %s %s is no plain permission", name, effect)
				}
			}
			actions, bad := texts(s.Get("Action"))
			resources, worse := texts(s.Get("Resource"))
			err = errors.Join(err, bad, worse)
			for _, action := range actions {
				for _, resource := range resources {
					list = append(list, permission{action, resource})
				}
			}
		}
	}
	return list, err
}

// texts returns a text or a list of them.
func texts(v template.Value) (list []string, err error) {
	items, err := v.List()
	if err != nil {
		items = []template.Value{v}
	}
	for _, item := range items {
		s, err := item.Str()
		if e, ok := errors.AsType[*template.Error](err); ok && e.Attribute != "" {
			s, err = "${"+e.Attribute+"}", nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Each role allows what is called, where it is called, and nothing else. That
// SAM adds nothing is seen in its translation: test/integration/sam.
func TestRolesAllowWhatIsCalled(t *testing.T) {
	for _, d := range deployedRoles {
		for _, w := range d.wrong(t, text(t, d.file)) {
			t.Errorf("%s: %s", d.file, w)
		}
	}
}
