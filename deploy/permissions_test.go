package deploy_test

import (
	"fmt"
	"go/ast"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const module = "github.com/sqsbatch/sqsbatch/"

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

// A grant is an action on what it is for: "queue", "dead-letter queue", "log",
// "key".
type grant struct{ action, on string }

// called are the permissions that the SQS operations in these packages take: a
// method of the SDK's client that is named anywhere in them is called. A batch
// operation takes the permission of the single one ("Actions, resources, and
// condition keys for Amazon SQS").
func called(t *testing.T, dirs []string) map[grant]bool {
	t.Helper()
	operations := map[string]bool{}
	client := reflect.TypeFor[*sqs.Client]()
	for i := range client.NumMethod() {
		operations[client.Method(i).Name] = true
	}
	delete(operations, "Options") // the client's own, no operation
	grants := map[grant]bool{}
	for _, dir := range dirs {
		for _, file := range sources(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok && operations[selector.Sel.Name] {
					g := grant{"sqs:" + strings.TrimSuffix(selector.Sel.Name, "Batch"), "queue"}
					if g.action == "sqs:SendMessage" {
						g.on = "dead-letter queue" // there is nothing else to send
					}
					grants[g] = true
				}
				return true
			})
		}
	}
	return grants
}

// forLambda are the permissions of a function: what it calls, what Lambda's
// poller calls with the function's role ("Creating and configuring an Amazon
// SQS event source mapping", execution role permissions), and its log, whose
// group the template makes.
func forLambda(t *testing.T) map[grant]bool {
	want := called(t, packages(t, "handler", "longpoll"))
	for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"} {
		want[grant{action, "queue"}] = true
	}
	for _, action := range []string{"logs:CreateLogStream", "logs:PutLogEvents"} {
		want[grant{action, "log"}] = true
	}
	return want
}

// forContainer are the permissions of a program that polls. Its log is the
// platform's. A queue's URL is asked for only when the queue is given by its
// name; the deployments give the URL. Keys are said in "Key management" of the
// SQS Developer Guide: Decrypt to receive and to send, GenerateDataKey to send.
func forContainer(t *testing.T) map[grant]bool {
	want := called(t, packages(t, "longpoll", ""))
	delete(want, grant{"sqs:GetQueueUrl", "queue"})
	want[grant{"kms:Decrypt", "key"}], want[grant{"kms:GenerateDataKey", "key"}] = true, true
	return want
}

// A deployed role is one of a template, with what its resources are for.
type deployedRole struct {
	file, role string
	others     []string          // the template's other roles
	on         map[string]string // by how a resource is written
	want       func(*testing.T) map[grant]bool
}

var deployedRoles = []deployedRole{
	{file: "../template.yaml", role: "OrdersFunctionRole", want: forLambda, on: map[string]string{
		"GetAtt OrdersQueue.Arn": "queue", "GetAtt OrdersDeadLetterQueue.Arn": "dead-letter queue", "GetAtt OrdersFunctionLogs.Arn": "log",
	}},
	{file: "ecs/service.yaml", role: "TaskRole", others: []string{"ExecutionRole"}, want: forContainer, on: arns},
	{file: "kubernetes/role.yaml", role: "Role", want: forContainer, on: arns},
}

var arns = map[string]string{"Ref QueueArn": "queue", "Ref DeadLetterQueueArn": "dead-letter queue", "Ref KmsKeyArn": "key"}

// allowed are the permissions of a role; what is not said in the plain way that
// can be compared is an error.
func (d deployedRole) allowed(template map[string]any) (grants map[grant]bool, err error) {
	defer func() { // a part is missing, or of another kind
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", d.role, r)
		}
	}()
	grants = map[grant]bool{}
	for id, r := range template["Resources"].(map[string]any) {
		kind := r.(map[string]any)["Type"].(string)
		if strings.HasPrefix(kind, "AWS::IAM::") && id != d.role && !slices.Contains(d.others, id) {
			return nil, fmt.Errorf("there is also %s, of type %s", id, kind)
		}
		if p := r.(map[string]any)["Properties"].(map[string]any); kind == "AWS::Serverless::Function" && (p["Policies"] != nil || p["Role"] == nil) {
			return nil, fmt.Errorf("SAM gives %s policies of its own", id)
		}
	}
	properties := template["Resources"].(map[string]any)[d.role].(map[string]any)["Properties"].(map[string]any)
	if properties["ManagedPolicyArns"] != nil {
		return nil, fmt.Errorf("%s has managed policies", d.role)
	}
	for _, policy := range properties["Policies"].([]any) {
		for _, s := range policy.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			statement := s.(map[string]any)
			if condition, ok := statement["If"]; ok { // with a key
				statement = condition.([]any)[1].(map[string]any)
			}
			for key := range statement {
				if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource"}, key) || statement["Effect"] != "Allow" {
					return nil, fmt.Errorf("statement %v is no plain permission", statement)
				}
			}
			actions, ok := statement["Action"].([]any)
			if !ok {
				actions = []any{statement["Action"]}
			}
			on := strings.Trim(strings.ReplaceAll(fmt.Sprint(statement["Resource"]), ":", " "), "map[]")
			if known, ok := d.on[on]; ok {
				on = known
			}
			for _, action := range actions {
				grants[grant{action.(string), on}] = true
			}
		}
	}
	return grants, nil
}

// differences are what a role allows too much or too little.
func (d deployedRole) differences(template map[string]any, want map[grant]bool) []string {
	got, err := d.allowed(template)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	for g := range want {
		if !got[g] {
			wrong = append(wrong, fmt.Sprintf("%s is called on the %s and not allowed", g.action, g.on))
		}
	}
	for g := range got {
		if !want[g] {
			wrong = append(wrong, fmt.Sprintf("%s is allowed on %s and not called", g.action, g.on))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// Each role allows what is called, where it is called, and nothing else. That
// SAM adds nothing is seen in its translation: test/integration/sam.
func TestRolesAllowWhatIsCalled(t *testing.T) {
	for _, d := range deployedRoles {
		for _, w := range d.differences(load(t, d.file), d.want(t)) {
			t.Errorf("%s: %s", d.file, w)
		}
	}
}
