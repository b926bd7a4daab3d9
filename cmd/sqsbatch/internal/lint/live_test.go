package lint_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// An account has queues of the emulator. Other services give the answers in testdata/live, which
// have the form of AWS's API references.
type account struct {
	sqs     *sqs.Server
	url     string
	edits   map[string][]string // old and new parts of answers, by the file
	refused []string            // prefixes of files that are refused
	mu      sync.Mutex
	asked   map[string]int
}

const at = "arn:aws:sqs:us-east-1:000000000000:"

func deployed(t *testing.T, attributes map[string]string) *account {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value) // for the end of the test
			golden.OK(t, os.Unsetenv(name))
		}
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("GITHUB_WORKSPACE", "")
	a := &account{sqs: sqs.New(sqs.Config{}), edits: map[string][]string{}, asked: map[string]int{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	t.Cleanup(func() { _ = a.sqs.Close() })
	a.url = server.URL
	a.queue(t, "orders-dlq", map[string]string{"MessageRetentionPeriod": "1209600"})
	orders := map[string]string{"VisibilityTimeout": "180", "ReceiveMessageWaitTimeSeconds": "20", "RedrivePolicy": `{"deadLetterTargetArn":"` + at + `orders-dlq","maxReceiveCount":5}`}
	maps.Copy(orders, attributes)
	maps.DeleteFunc(orders, func(_, v string) bool { return v == "" })
	a.queue(t, "orders", orders)
	return a
}

func (a *account) queue(t *testing.T, name string, attributes map[string]string) {
	t.Helper()
	_, err := a.sqs.Client().CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	golden.OK(t, err)
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.") {
		answer := httptest.NewRecorder()
		a.sqs.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, strings.NewReplacer(a.edits[r.Header.Get("X-Amz-Target")]...).Replace(answer.Body.String()))
		return
	}
	body, _ := io.ReadAll(r.Body)
	name := answerOf(r, string(body))
	a.mu.Lock()
	a.asked[name]++
	a.mu.Unlock()
	asXML := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form")
	fail := func(status int, code string) {
		if asXML {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<ErrorResponse><Error><Type>Sender</Type><Code>"+strings.TrimSuffix(code, "Exception")+"</Code><Message>it is \x1b[2Jso</Message></Error></ErrorResponse>")
			return
		}
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"Message":"it is so"}`)
	}
	for _, prefix := range a.refused {
		if strings.HasPrefix(name, prefix) {
			fail(http.StatusForbidden, "AccessDeniedException")
			return
		}
	}
	files, _ := filepath.Glob("testdata/live/" + name + ".*")
	if len(files) == 0 && strings.HasPrefix(name, "mappings-") {
		_, _ = io.WriteString(w, `{"EventSourceMappings": []}`)
		return
	}
	if len(files) != 1 || !strings.Contains(r.Header.Get("Authorization"), "Credential=test/") {
		fail(http.StatusNotFound, map[bool]string{true: "NotFound", false: "ResourceNotFoundException"}[asXML])
		return
	}
	data, _ := os.ReadFile(files[0])
	_, _ = io.WriteString(w, strings.NewReplacer(a.edits[name]...).Replace(string(data)))
}

// answerOf names the answer to a request.
func answerOf(r *http.Request, body string) string {
	last := func(s string) string { return s[strings.LastIndexAny(s, ":/")+1:] }
	part := strings.Split(r.URL.Path, "/")
	switch query := r.URL.Query(); {
	case strings.HasSuffix(r.URL.Path, "/event-source-mappings") && query.Has("EventSourceArn"):
		return strings.TrimSuffix("mappings-to-"+last(query.Get("EventSourceArn"))+"-"+query.Get("Marker"), "-")
	case strings.HasSuffix(r.URL.Path, "/event-source-mappings"):
		return strings.TrimSuffix("mappings-of-"+strings.ReplaceAll(query.Get("FunctionName"), ":", "-")+"-"+query.Get("Marker"), "-")
	case len(part) == 5 && part[2] == "functions": // configuration-orders, aliases-orders
		return strings.TrimSuffix(part[4]+"-"+part[3]+"-"+query.Get("Qualifier"), "-")
	}
	if _, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "TrentService."); ok {
		return operation
	}
	form, _ := url.ParseQuery(body)
	name := form.Get("Action")
	for _, field := range []string{"RoleName", "PolicyName", "PolicyArn", "VersionId", "TopicArn", "Marker", "NextToken"} {
		if form.Has(field) {
			name += "-" + last(form.Get(field))
		}
	}
	return name
}

// lint runs --live with JSON output, and returns findings and what is not known, each as its rules and
// its place.
func (a *account) lint(t *testing.T, args ...string) (status int, findings, unknown []string) {
	t.Helper()
	status, stdout, stderr := run(t, append([]string{"--live", "--endpoint-url", a.url, "--region", "us-east-1", "--output", "json", "--severity", "note"}, args...)...)
	if strings.Contains(stdout+stderr, "s3cr3t") {
		t.Error("a secret is in the output")
	}
	for line := range strings.Lines(stdout) {
		var x struct {
			Type, Rule, Resource, Attribute, Message string
			Rules                                    []string
		}
		golden.OK(t, json.Unmarshal([]byte(line), &x))
		place := strings.TrimSuffix(x.Resource+"."+x.Attribute, ".")
		switch x.Type {
		case "finding":
			findings = append(findings, x.Rule+" "+place)
		case "unknown":
			unknown = append(unknown, place+": "+x.Message+" "+strings.Join(x.Rules, " "))
		}
	}
	return status, findings, unknown
}

const mapped = "mapping a1b2c3d4-0000-4000-8000-000000000001"

// Each rule finds in an account what it finds in a template.
func TestLive_WrongSettingsAreFound(t *testing.T) {
	policy := func(statement string) map[string]string {
		return map[string]string{"Policy": `{"Statement":` + statement + `}`}
	}
	const topic = `{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:sns:us-east-1:000000000000:placed"}}}`
	encrypted := map[string]string{"KmsMasterKeyId": "alias/orders"}
	decrypt := map[string][]string{"GetRolePolicy-orders-role-queue": {"%5B%0A%20%20%20%20%7B", "%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%22kms%3ADecrypt%22%2C%22Resource%22%3A%22*%22%7D%2C%7B"}}
	for name, c := range map[string]struct {
		attributes map[string]string // of the queue
		edits      map[string][]string
		want       []string
	}{
		"none":                 {},
		"no partial batch":     {nil, map[string][]string{"mappings-to-orders": {`"ReportBatchItemFailures"`, ``}}, []string{"SB101 " + mapped}},
		"short visibility":     {map[string]string{"VisibilityTimeout": "60"}, nil, []string{"SB106 orders.VisibilityTimeout"}},
		"shorter than timeout": {map[string]string{"VisibilityTimeout": "20"}, nil, []string{"SB105 orders.VisibilityTimeout"}},
		"too many at once": {nil, map[string][]string{"mappings-to-orders": {`"ScalingConfig": null`, `"ScalingConfig": {"MaximumConcurrency": 9}`}, "concurrency-orders": {"{}", `{"ReservedConcurrentExecutions": 3}`}},
			[]string{"SB109 " + mapped + ".ScalingConfig.MaximumConcurrency"}},
		"a destination": {map[string]string{"RedrivePolicy": ""}, map[string][]string{"configuration-orders": {`"Runtime"`, `"DeadLetterConfig": {"TargetArn": "arn:aws:sns:us-east-1:000000000000:t"}, "Runtime"`}},
			[]string{"SB201 orders", "SB111 function orders.DeadLetterConfig"}},
		"filters": {nil, map[string][]string{"mappings-to-orders": {`"FilterCriteria": null`, `"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}`}}, []string{"SB113 " + mapped}},
		"never started": {nil, map[string][]string{"configuration-orders": {`"SQSBATCH_OUTAGE": "15m"`, `"SQSBATCH_MIN_REMAINING": "40s"`}},
			[]string{"SB114 function orders.Environment.Variables"}},
		"other count":     {nil, map[string][]string{"configuration-orders": {`"SQSBATCH_OUTAGE": "15m"`, `"SQSBATCH_MAX_RECEIVE_COUNT": "3"`}}, []string{"SB119 function orders.Environment.Variables"}},
		"few receives":    {map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + at + `orders-dlq","maxReceiveCount":"2"}`}, nil, []string{"SB202 orders.RedrivePolicy.maxReceiveCount"}},
		"no dead letters": {map[string]string{"RedrivePolicy": ""}, nil, []string{"SB201 orders"}},
		"long retention":  {map[string]string{"MessageRetentionPeriod": "1209600"}, nil, nil},
		"no encryption":   {map[string]string{"SqsManagedSseEnabled": "false"}, nil, []string{"SB214 orders.SqsManagedSseEnabled"}},
		"a delay":         {map[string]string{"DelaySeconds": "200"}, nil, []string{"SB216 orders.DelaySeconds"}},
		"public":          {policy(`{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}`), nil, []string{"SB213 orders", "SB212 orders.Policy"}},
		"any topic":       {policy(`{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}`), nil, []string{"SB213 orders", "SB218 orders.Policy"}},
		"no delete":       {nil, map[string][]string{"GetRolePolicy-orders-role-queue": {"sqs%3ADeleteMessage", "logs%3APutLogEvents"}}, []string{"SB301 role orders-role", "SB305 role orders-role.queue"}},
		"no backoff":      {nil, map[string][]string{"GetRolePolicy-orders-role-queue": {"sqs%3AChangeMessageVisibility", "logs%3APutLogEvents"}}, []string{"SB302 role orders-role", "SB305 role orders-role.queue"}},
		"no sending":      {nil, map[string][]string{"GetPolicyVersion-dead-letters-v3": {"sqs%3ASendMessage", "s3%3AGetObject"}}, []string{"SB303 role orders-role", "SB305 role orders-role.dead-letters"}},
		"too much":        {nil, map[string][]string{"GetPolicyVersion-dead-letters-v3": {"sqs%3ASendMessage", "sqs%3A%2A"}}, []string{"SB305 role orders-role.dead-letters"}},
		"no key":          {encrypted, nil, []string{"SB304 role orders-role"}},
		"a key":           {encrypted, decrypt, nil},
		"a topic and a key": {map[string]string{"KmsMasterKeyId": "alias/orders", "Policy": `{"Statement":` + topic + `}`}, nil,
			[]string{"SB213 orders", "SB304 role orders-role", "SB306 key 1234abcd-12ab-34cd-56ef-1234567890ab.Policy"}},
		"a topic and AWS's key":  {map[string]string{"KmsMasterKeyId": "alias/aws/sqs", "Policy": `{"Statement":` + topic + `}`}, nil, []string{"SB306 orders.KmsMasterKeyId", "SB213 orders"}},
		"early alarm":            {nil, map[string][]string{"DescribeAlarms": {"1800.0", "300.0"}}, []string{"SB501 alarm orders-age.Threshold"}},
		"no alarm on age":        {nil, map[string][]string{"DescribeAlarms": {"<Value>orders</Value>", "<Value>orders-2</Value>"}}, []string{"SB502 orders"}},
		"no alarm on depth":      {nil, map[string][]string{"DescribeAlarms-second": {"orders-dlq", "orders-dlq-2"}}, []string{"SB503 orders-dlq"}},
		"no alarms at all":       {nil, map[string][]string{"DescribeAlarms": {"<NextToken>second</NextToken>", "", "<Value>orders</Value>", "<Value>orders-2</Value>"}}, []string{"SB502 orders", "SB503 orders-dlq"}},
		"an alarm on all queues": {nil, map[string][]string{"DescribeAlarms": {"<Value>orders</Value>", "<Value>orders-2</Value>"}, "DescribeAlarms-second": {"orders-dlq", "other", "FILL(m1, 0)", `SELECT MAX(ApproximateAgeOfOldestMessage) FROM SCHEMA("AWS/SQS", QueueName)`}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := deployed(t, c.attributes)
			maps.Copy(a.edits, c.edits)
			_, found, unknown := a.lint(t, "orders")
			if !slices.Equal(found, c.want) || len(unknown) > 0 && name != "public" { // whose policy may allow the role something
				t.Errorf("got\n%s\nwant\n%s\nunknown\n%s", strings.Join(found, "\n"), strings.Join(c.want, "\n"), strings.Join(unknown, "\n"))
			}
		})
	}
}

// A call that is refused makes its rules unknown, and finds nothing.
func TestLive_RefusedCalls_AreNotFindings(t *testing.T) {
	for refused, want := range map[string][]string{
		"mappings-to-orders":       {"orders: lambda:ListEventSourceMappings: AccessDeniedException", "SB101", "SB201", "SB215", "SB304", "SB501"},
		"mappings-to-orders-dlq":   {"orders-dlq: lambda:ListEventSourceMappings: AccessDeniedException", "SB206 SB503"},
		"mappings-of":              {"function orders: lambda:ListEventSourceMappings: AccessDeniedException", "SB109 SB119 SB206"},
		"configuration":            {mapped + ": lambda:GetFunctionConfiguration: AccessDeniedException", "SB101", "SB106", "SB302"},
		"concurrency":              {"function orders.ReservedConcurrentExecutions: ReservedConcurrentExecutions is not known: lambda:GetFunctionConcurrency: AccessDeniedException", "SB109"},
		"ListRolePolicies":         {"role orders-role: not all permissions of role orders-role are known: iam:ListRolePolicies: AccessDenied", "SB301", "SB302", "SB303"},
		"GetRolePolicy":            {"iam:GetRolePolicy: AccessDenied", "SB301", "SB302", "SB303"},
		"ListAttachedRolePolicies": {"iam:ListAttachedRolePolicies: AccessDenied", "SB301"},
		"GetPolicy-":               {"iam:GetPolicy: AccessDenied", "SB303"},
		"GetPolicyVersion":         {"iam:GetPolicyVersion: AccessDenied", "SB303"},
		"DescribeAlarms":           {"orders: cloudwatch:DescribeAlarms: AccessDenied", "SB501 SB502 SB503"},
		"DescribeAlarms-second":    {"orders: cloudwatch:DescribeAlarms: AccessDenied", "SB501 SB502 SB503"},
		"DescribeKey":              {"orders.KmsMasterKeyId: KmsMasterKeyId is not known: kms:DescribeKey: AccessDeniedException", "SB304", "SB306"},
		"GetKeyPolicy":             {"kms:GetKeyPolicy: AccessDeniedException", "SB304", "SB306"},
		"ListSubscriptionsByTopic": {"orders: sns:ListSubscriptionsByTopic: AccessDenied", "SB306"},
		"event-invoke-config":      {"function orders: lambda:GetFunctionEventInvokeConfig: AccessDeniedException", "SB111"},
	} {
		t.Run(refused, func(t *testing.T) {
			attributes := map[string]string{}
			if refused == "event-invoke-config" { // which is asked for only then
				attributes["RedrivePolicy"] = ""
			}
			if strings.Contains(refused, "Key") || strings.Contains(refused, "Topic") {
				attributes["KmsMasterKeyId"] = "alias/orders"
				attributes["Policy"] = `{"Statement":[{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}},
					{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:sns:us-east-1:000000000000:placed"}}}]}`
			}
			a := deployed(t, attributes)
			a.refused = []string{refused}
			status, found, unknown := a.lint(t, "orders")
			if refused == "event-invoke-config" {
				found = slices.DeleteFunc(found, func(f string) bool { return f == "SB201 orders" })
			}
			if strings.Contains(refused, "Topic") {
				found = slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, "SB304") })
			}
			all := strings.Join(unknown, "\n")
			if len(found) > 0 || status == 3 {
				t.Errorf("status %d, found %q", status, found)
			}
			golden.Says(t, refused, all, want...)
		})
	}
}

// A queue that cannot be read is an error, and others are checked.
func TestLive_UnreadableQueue_IsStatus3(t *testing.T) {
	a := deployed(t, map[string]string{"VisibilityTimeout": "60"})
	status, found, _ := a.lint(t, "nothere", a.url+"/000000000000/orders", "x*")
	if status != 3 || !slices.Equal(found, []string{"SB106 orders.VisibilityTimeout"}) {
		t.Errorf("status %d, found %q", status, found)
	}
	if status, stdout, stderr := run(t, "--live", "--endpoint-url", a.url, "--region", "us-east-1", "nothere", "or*ders"); status != 3 || !strings.Contains(stdout, "2 not read") || !strings.Contains(stderr, "may only be at the end") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// Each way to name a queue reads the same one, once.
func TestLive_NamesURLsARNsAndPrefixes(t *testing.T) {
	a := deployed(t, map[string]string{"VisibilityTimeout": "60"})
	for _, args := range [][]string{{"orders"}, {at + "orders"}, {a.url + "/000000000000/orders"}, {"ord*"}, {"*"}, {"--function", "orders"}, {"--function", "arn:aws:lambda:us-east-1:000000000000:function:orders"}, {"orders", "*", "--function", "orders"}} {
		if _, found, _ := a.lint(t, args...); !slices.Equal(found, []string{"SB106 orders.VisibilityTimeout"}) {
			t.Errorf("%q: %q", args, found)
		}
	}
	// A dead-letter queue that is named has a part of its own.
	if _, found, unknown := a.lint(t, "orders-dlq"); len(found)+len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	a.edits["DescribeAlarms-second"] = []string{"orders-dlq", "other"}
	if _, found, _ := a.lint(t, "orders-dlq"); !slices.Equal(found, []string{"SB503 orders-dlq"}) {
		t.Errorf("%q", found)
	}
}

// Other mappings of a function count, but only what is asked for is reported.
func TestLive_OtherQueuesOfAFunction(t *testing.T) {
	a := deployed(t, nil)
	const other = `{"UUID": "a1b2c3d4-0000-4000-8000-000000000002", "EventSourceArn": "` + at + `other", "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:orders", "BatchSize": 10, "ScalingConfig": {"MaximumConcurrency": 4}},`
	a.edits["mappings-of-orders"] = []string{`"EventSourceMappings": [`, `"EventSourceMappings": [` + other}
	if _, found, unknown := a.lint(t, "orders"); len(found)+len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	a.edits["mappings-to-orders"] = []string{`"ScalingConfig": null`, `"ScalingConfig": {"MaximumConcurrency": 4}`}
	a.edits["concurrency-orders"] = []string{"{}", `{"ReservedConcurrentExecutions": 5}`}
	if _, found, _ := a.lint(t, "orders"); !slices.Equal(found, []string{"SB109 function orders.ReservedConcurrentExecutions"}) {
		t.Errorf("%q", found)
	}
	a = deployed(t, nil)
	const own = `{"UUID": "d", "EventSourceArn": "` + at + `orders-dlq", "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:orders", "BatchSize": 10, "FunctionResponseTypes": ["ReportBatchItemFailures"]}`
	a.edits["mappings-to-orders-dlq"] = []string{"[]", "[" + own + "]"}
	a.edits["mappings-of-orders"] = []string{`"EventSourceMappings": [`, `"EventSourceMappings": [` + own + ","}
	_, found, _ := a.lint(t, "orders")
	if !slices.Contains(found, "SB206 mapping d") {
		t.Errorf("%q", found)
	}
}

// A mapping may name an alias, whose settings are those of a version.
func TestLive_AliasOfAFunction(t *testing.T) {
	a := deployed(t, nil)
	a.edits["mappings-to-orders"] = []string{"function:orders", "function:orders:live"}
	a.edits["configuration-orders-live"] = []string{`"Timeout": 30`, `"Timeout": 60`}
	if _, found, unknown := a.lint(t, "orders"); !slices.Equal(found, []string{"SB106 orders.VisibilityTimeout"}) || len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	a.edits["mappings-to-orders"][1] = "function:orders:gone"
	if _, found, unknown := a.lint(t, "orders"); len(found) > 0 || !strings.Contains(strings.Join(unknown, ""), "lambda:GetFunctionConfiguration: ResourceNotFoundException") {
		t.Errorf("%q %q", found, unknown)
	}
}

// What an account has is written so that a terminal, a shell and a workflow read it as text.
func TestLive_HostileNames(t *testing.T) {
	a := deployed(t, map[string]string{"VisibilityTimeout": "60", "Policy": `{"Statement":{"Fn::Sub":"\u001b[2J"}}`})
	a.edits["DescribeAlarms"] = []string{"<AlarmName>orders-age<", "<AlarmName>&#x1f;&#10;::error::$(id)'&quot;\u202e<", "1800.0", "300.0"}
	a.edits["mappings-to-orders"] = []string{`"UUID": "a1b2`, `"UUID": "'; rm -rf \u001b[2J`, `"ReportBatchItemFailures"`, ``}
	for _, output := range []string{"text", "json", "sarif", "github", "gitlab", "baseline"} {
		_, stdout, _ := run(t, "--live", "--endpoint-url", a.url, "--region", "us-east-1", "--verbose", "--output", output, "orders")
		if strings.ContainsAny(stdout, "\x1b\x1f\u202e") || strings.Contains(stdout, "\n::error::$(id)") {
			t.Errorf("%s: %q", output, stdout)
		}
		if output == "text" && !strings.Contains(stdout, `--uuid ''\''; rm -rf`) {
			t.Errorf("%s", stdout)
		}
	}
}

func TestLive_Usage(t *testing.T) {
	for want, args := range map[string][]string{
		"--live needs a queue or --function":                  {"--live"},
		"--fix is for templates, and --live reads none":       {"--live", "--fix", "orders"},
		"--config-env is for templates":                       {"--live", "--config-env", "prod", "orders"},
		"--parameter-overrides is for templates":              {"--live", "orders", "--parameter-overrides", "A=1"},
		"--region needs --live":                               {"--region", "eu-west-1"},
		"--function needs --live":                             {"--function", "orders", "template.yaml"},
		"template.yaml: --live reads queues and no templates": {"--live", "template.yaml"},
		"-: --live reads queues and no templates":             {"--live", "-"},
	} {
		if status, _, stderr := run(t, args...); status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d: %s", args, status, stderr)
		}
	}
}

// Several queues end with a table, the worst first. A call that is refused for each is said once.
func TestLive_Outputs(t *testing.T) {
	a := deployed(t, map[string]string{"VisibilityTimeout": "60"})
	a.queue(t, "payments", map[string]string{"SqsManagedSseEnabled": "false"})
	a.queue(t, "good", map[string]string{"ReceiveMessageWaitTimeSeconds": "20"})
	a.refused = []string{"mappings-to-payments", "mappings-to-good"}
	a.edits["mappings-to-orders"] = []string{`"ReportBatchItemFailures"`, ``}
	for name, args := range map[string][]string{
		"live.txt":   {"*", "missing", "--verbose"},
		"live.jsonl": {"orders", "--output", "json"},
		"live.sarif": {"orders", "--output", "sarif"},
	} {
		status, stdout, stderr := run(t, append([]string{"--live", "--endpoint-url", a.url, "--region", "us-east-1"}, args...)...)
		if want := map[bool]int{true: 3, false: 1}[name == "live.txt"]; status != want {
			t.Errorf("%s: status %d\n%s", name, status, stderr)
		}
		if name == "live.sarif" {
			stdout, _, _ = strings.Cut(stdout[strings.Index(stdout, "\"results\""):], "\"tool\"") // the rules are in output.sarif
		}
		golden.Check(t, name, strings.ReplaceAll(stdout, a.url, "http://127.0.0.1:4566"))
	}
	_, accepted, _ := run(t, "--live", "--endpoint-url", a.url, "--region", "us-east-1", "--output", "baseline", "orders")
	baseline := golden.File(t, "baseline", accepted)
	if status, stdout, _ := run(t, "--live", "--endpoint-url", a.url, "--region", "us-east-1", "--baseline", baseline, "*", "--function", "orders"); !strings.Contains(stdout, "in the baseline") || strings.Contains(stdout, "SB101") {
		t.Errorf("status %d\n%s", status, stdout)
	}
}

// The policy in the documentation allows what is called, and nothing else.
func TestLive_DocumentedPermissions(t *testing.T) {
	page := docpage.Read(t, filepath.Join("..", "..", "..", "..", "docs", "lint.md"))
	_, page, _ = strings.Cut(page, "## Deployed queues")
	var documented []string
	for _, m := range regexp.MustCompile(`"([a-z]+:[A-Z]\w+)"`).FindAllStringSubmatch(page, -1) {
		documented = append(documented, m[1])
	}
	source := strings.ReplaceAll(docpage.Read(t, filepath.Join("..", "live", "account.go")), `awscall.STS, "GetCallerIdentity"`, "") // which needs none
	called := []string{"sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:ListQueues", "sqs:ListDeadLetterSourceQueues"}
	for _, m := range regexp.MustCompile(`awscall\.(\w+), "(\w+)"`).FindAllStringSubmatch(source, -1) {
		called = append(called, strings.ToLower(m[1])+":"+m[2])
	}
	for _, m := range regexp.MustCompile(`iamList\(ctx, "(\w+)"`).FindAllStringSubmatch(source, -1) {
		called = append(called, "iam:"+m[1])
	}
	slices.Sort(called)
	slices.Sort(documented)
	if !slices.Equal(called, documented) {
		t.Errorf("documented %q, called %q", documented, called)
	}
}

// In another account than that of the credentials, mappings and alarms are not known to be all.
func TestLive_QueueOfAnotherAccount(t *testing.T) {
	a := deployed(t, nil)
	a.edits["DescribeAlarms"] = []string{"<Value>orders</Value>", "<Value>orders-2</Value>"}
	a.edits["GetCallerIdentity"] = []string{"000000000000", "123456789012"}
	_, found, unknown := a.lint(t, "orders")
	if len(found) > 0 || len(unknown) != 1 || !strings.Contains(unknown[0], "in account 000000000000, and the credentials are for account 123456789012") {
		t.Errorf("%q %q", found, unknown)
	}
}

// The mappings of a function are those of its aliases, too. A mapping that is disabled takes no messages
// from another.
func TestLive_MappingsOfAliases(t *testing.T) {
	a := deployed(t, map[string]string{"VisibilityTimeout": "60"})
	a.edits["mappings-of-orders"] = []string{":sqs:", ":dynamodb:"}
	a.edits["mappings-to-orders"] = []string{"function:orders", "function:orders:live"}
	if _, found, unknown := a.lint(t, "--function", "orders"); !slices.Equal(found, []string{"SB106 orders.VisibilityTimeout"}) || len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	a = deployed(t, nil)
	filters := `"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}, "MetricsConfig": {"Metrics": ["EventCount"]}`
	old := `{"UUID": "old", "EventSourceArn": "` + at + `orders", "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:orders", "FunctionResponseTypes": ["ReportBatchItemFailures"], "BatchSize": 10, "State": "Disabled"},`
	a.edits["mappings-to-orders"] = []string{`"EventSourceMappings": [`, `"EventSourceMappings": [` + old, `"FilterCriteria": null`, filters, `"MetricsConfig": null,`, ``}
	if _, found, unknown := a.lint(t, "orders"); len(found)+len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	a.edits["mappings-to-orders"][1] = strings.Replace(a.edits["mappings-to-orders"][1], "Disabled", "Enabled", 1)
	if _, found, unknown := a.lint(t, "orders"); !slices.Equal(found, []string{"SB120 " + mapped + ".FilterCriteria"}) {
		t.Errorf("%q %q", found, unknown)
	}
	a.edits["mappings-to-orders"][1] = strings.Replace(a.edits["mappings-to-orders"][1], "Enabled", "Deleting", 1)
	if _, found, unknown := a.lint(t, "orders"); len(found)+len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
}

// What SQS refuses of other queues is not known either.
func TestLive_RefusedCallsOfSQS(t *testing.T) {
	refuse := func(t *testing.T, a *account, operation, queue string) {
		t.Helper()
		golden.OK(t, a.sqs.Inject(sqs.Fault{Kind: sqs.Failure, Operation: operation, Queue: queue, Code: "AccessDenied"}))
	}
	a := deployed(t, map[string]string{"ReceiveMessageWaitTimeSeconds": "0"})
	a.edits["mappings-to-orders"] = []string{"EventSourceMappings", "None"}
	if _, found, _ := a.lint(t, "orders"); !slices.Equal(found, []string{"SB215 orders.ReceiveMessageWaitTimeSeconds"}) {
		t.Errorf("%q", found)
	}
	refuse(t, a, "ListDeadLetterSourceQueues", "orders")
	_, found, unknown := a.lint(t, "orders")
	if len(found) > 0 || len(unknown) != 1 || !strings.Contains(unknown[0], "sqs:ListDeadLetterSourceQueues") {
		t.Errorf("%q %q", found, unknown)
	}
	refuse(t, a, "GetQueueAttributes", "orders-dlq")
	if status, _, unknown := a.lint(t, "orders"); status != 0 || len(unknown) != 2 || !strings.Contains(unknown[0], "SB204") {
		t.Errorf("status %d %q", status, unknown)
	}
	refuse(t, a, "GetQueueAttributes", "orders")
	if status, _, _ := a.lint(t, "orders"); status != 3 {
		t.Errorf("status %d", status)
	}
}

// Only what is asked for is reported, though more is read.
func TestLive_SourcesOfADeadLetterQueue(t *testing.T) {
	a := deployed(t, map[string]string{"MessageRetentionPeriod": "345600", "SqsManagedSseEnabled": "false"})
	a.queue(t, "late-dlq", map[string]string{"MessageRetentionPeriod": "60"})
	a.queue(t, "late", map[string]string{"SqsManagedSseEnabled": "false", "RedrivePolicy": `{"deadLetterTargetArn":"` + at + `late-dlq","maxReceiveCount":5}`})
	if _, found, _ := a.lint(t, "late-dlq"); !slices.Equal(found, []string{"SB503 late-dlq", "SB204 late-dlq.MessageRetentionPeriod"}) {
		t.Errorf("%q", found)
	}
}

func TestLive_WhatLambdaCannotDecrypt(t *testing.T) {
	a := deployed(t, nil)
	a.edits["configuration-orders"] = []string{`"Environment": {`, `"Environment": {"Error": {"ErrorCode": "AccessDeniedException", "Message": "no kms:Decrypt"},`, `"SQSBATCH_OUTAGE": "15m",`, ``}
	const old = `{"UUID": "old", "EventSourceArn": "` + at + `orders", "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:orders", "BatchSize": 1},`
	a.edits["mappings-to-orders"] = []string{`"EventSourceMappings": [`, `"EventSourceMappings": [` + old, `"FilterCriteriaError": null`, `"FilterCriteriaError": {"ErrorCode": "KMSAccessDenied", "Message": "no"}`, `"BatchSize": 10`, `"BatchSize": 1`, `"ReportBatchItemFailures"`, ``}
	_, found, unknown := a.lint(t, "orders")
	if len(found) > 0 {
		t.Errorf("%q", found)
	}
	golden.Says(t, "unknown", strings.Join(unknown, "\n"), "function orders.Environment.Variables: ", "Lambda cannot read the variables: AccessDeniedException SB101",
		mapped+".FilterCriteria: FilterCriteria is not known: Lambda cannot read the filters: KMSAccessDenied SB120")
}

// A topic of AWS's key, of the second page, and one that has no subscription.
func TestLive_KeysAndTopics(t *testing.T) {
	const policy = `{"Statement":[{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}},
		{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":["arn:aws:sns:us-east-1:000000000000:gone","arn:aws:sns:us-east-1:000000000000:placed"]}}}]}`
	a := deployed(t, map[string]string{"KmsMasterKeyId": "1234abcd-12ab-34cd-56ef-1234567890ab", "Policy": policy})
	a.edits["DescribeKey"] = []string{"CUSTOMER", "AWS"}
	if _, found, unknown := a.lint(t, "orders"); !slices.Equal(found, []string{"SB306 orders.KmsMasterKeyId"}) || len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	a.edits["ListSubscriptionsByTopic-placed"] = []string{":orders<", ":other<", "</Subscriptions>", "</Subscriptions><NextToken>second</NextToken>"}
	a.edits["ListSubscriptionsByTopic-placed-second"] = []string{":orders<", ":other<"}
	if _, found, unknown := a.lint(t, "orders"); len(found)+len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
	delete(a.edits, "ListSubscriptionsByTopic-placed-second")
	if _, found, unknown := a.lint(t, "orders"); !slices.Equal(found, []string{"SB306 orders.KmsMasterKeyId"}) || len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
}

// A function may poll a queue of the same name in another account.
func TestLive_QueueOfTheSameNameElsewhere(t *testing.T) {
	a := deployed(t, nil)
	const other = `{"UUID": "other", "EventSourceArn": "arn:aws:sqs:us-east-1:123456789012:orders", "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:orders", "BatchSize": 10},`
	filters := []string{`"FilterCriteria": null`, `"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}, "MetricsConfig": {"Metrics": ["EventCount"]}`, `"MetricsConfig": null,`, ``}
	a.edits["mappings-of-orders"] = []string{`"EventSourceMappings": [`, `"EventSourceMappings": [` + other}
	a.edits["mappings-to-orders"] = filters
	if _, found, unknown := a.lint(t, "orders"); len(found)+len(unknown) > 0 {
		t.Errorf("%q %q", found, unknown)
	}
}

// ElasticMQ does not return each attribute. What it does not say is not taken for SQS's default.
func TestLive_AttributesThatTheServerDoesNotReturn(t *testing.T) {
	a := deployed(t, nil)
	a.edits["AmazonSQS.GetQueueAttributes"] = []string{`"MessageRetentionPeriod"`, `"Other1"`, `"VisibilityTimeout"`, `"Other2"`, `"SqsManagedSseEnabled"`, `"Other3"`}
	_, found, unknown := a.lint(t, "orders")
	if len(found) > 0 {
		t.Errorf("%q", found)
	}
	golden.Says(t, "unknown", strings.Join(unknown, "\n"), "orders.VisibilityTimeout: VisibilityTimeout is not known: the server does not say", "orders-dlq.MessageRetentionPeriod: ", "SB204")
}
