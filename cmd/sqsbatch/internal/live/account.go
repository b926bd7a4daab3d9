package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/live/awscall"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// An account is a region of an AWS account. It makes each call once.
type account struct {
	*queue.Account
	settings queue.Settings
	client   *awscall.Client
	calls    atomic.Int64 // of SQS

	queues    memo[*queue.Queue]
	mappings  memo[[]mapping]
	functions memo[*function]
	limits    memo[*int] // of functions: the reserved concurrency
	invokes   memo[string]
	roles     memo[*role]
	keys      memo[*key]
	topics    memo[[]string]
	alarms    memo[[]alarm]
	callers   memo[string]
}

func connect(ctx context.Context, s queue.Settings, name string) (*account, error) {
	q, err := queue.Connect(ctx, s, name)
	if err != nil {
		return nil, err
	}
	return &account{Account: q, settings: s, client: awscall.New(q.Config(), q.Endpoint)}, nil
}

// A memo remembers answers by what was asked for.
type memo[T any] struct {
	mu      sync.Mutex
	answers map[string]func() (T, error)
}

func (m *memo[T]) get(key string, ask func() (T, error)) (T, error) {
	m.mu.Lock()
	if m.answers == nil {
		m.answers = map[string]func() (T, error){}
	}
	answer := m.answers[key]
	if answer == nil {
		answer = sync.OnceValues(ask)
		m.answers[key] = answer
	}
	m.mu.Unlock()
	return answer()
}

// open finds a queue, by a URL that SQS listed or by what a user or an attribute names.
func (a *account) open(ctx context.Context, name string, listed bool) (*queue.Queue, error) {
	return a.queues.get(path(name), func() (*queue.Queue, error) {
		a.calls.Add(1)
		if listed {
			return a.OpenListed(ctx, name, queue.Opening)
		}
		if _, err := endpoint.ParseARN(name); err != nil && !strings.Contains(name, "://") {
			a.calls.Add(1) // GetQueueUrl
		}
		return a.Open(ctx, name, queue.Opening)
	})
}

// path is what a queue's URL and its ARN have in common: the account and the name.
func path(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == ':' })
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

func (a *account) list(ctx context.Context, prefix string) ([]string, error) {
	a.calls.Add(1)
	return a.List(ctx, prefix, queue.Opening)
}

// caller is the account of the credentials, "" if that is not known: an emulator may have none.
func (a *account) caller(ctx context.Context) string {
	id, _ := a.callers.get("", func() (string, error) {
		var out struct {
			Account string `xml:"GetCallerIdentityResult>Account"`
		}
		err := a.client.Query(ctx, awscall.STS, "GetCallerIdentity", nil, &out)
		return out.Account, err
	})
	return id
}

// A functionName is what names a function.
type functionName struct{ region, name, qualifier string }

// functionText matches what Lambda takes as FunctionName ("Common parameters" of its API reference).
var functionText = regexp.MustCompile(`^(?:arn:aws[a-z-]*:lambda:([a-z0-9-]+):\d{12}:function:|\d{12}:function:)?([A-Za-z0-9_-]{1,140})(?::(\$LATEST|[A-Za-z0-9_-]{1,128}))?$`)

func parseFunction(text string) (f functionName, err error) {
	m := functionText.FindStringSubmatch(text)
	if m == nil {
		return f, errors.New("not the name or the ARN of a function")
	}
	return functionName{m[1], m[2], m[3]}, nil
}

// regional is a queue's ARN in the function's region, "" if that is not known.
func (f functionName) regional() string {
	if f.region == "" {
		return ""
	}
	return "arn:aws:sqs:" + f.region + ":000000000000:any"
}

// String is the name with the qualifier.
func (f functionName) String() string {
	return strings.TrimSuffix(f.name+":"+f.qualifier, ":")
}

// A mapping is one of Lambda's event source mappings ("EventSourceMappingConfiguration" in its API
// reference).
type mapping struct {
	UUID                           string
	EventSourceArn                 string
	FunctionArn                    string
	State                          string
	BatchSize                      any
	MaximumBatchingWindowInSeconds any
	FunctionResponseTypes          []any
	ScalingConfig                  map[string]any
	ProvisionedPollerConfig        map[string]any
	MetricsConfig                  map[string]any
	DestinationConfig              map[string]any
	FilterCriteria                 map[string]any
	FilterCriteriaError            map[string]any
}

// mappingsTo lists the mappings of a queue, mappingsOf those of a function and all its queues.
func (a *account) mappingsTo(ctx context.Context, arn string) ([]mapping, error) {
	return a.listMappings(ctx, "EventSourceArn", arn)
}

// everyMappingOf is mappingsOf with the mappings of the function's aliases, unless f is one.
func (a *account) everyMappingOf(ctx context.Context, f functionName) ([]mapping, error) {
	list, err := a.mappingsOf(ctx, f)
	if err != nil || f.qualifier != "" {
		return list, err
	}
	err = pages(func(marker string) (next string, err error) {
		var page struct {
			Aliases    []struct{ Name string }
			NextMarker string
		}
		query := url.Values{}
		if marker != "" {
			query.Set("Marker", marker)
		}
		err = a.client.Get(ctx, awscall.Lambda, "ListAliases", "/2015-03-31/functions/"+f.name+"/aliases", query, &page)
		for _, alias := range page.Aliases {
			more, bad := a.mappingsOf(ctx, functionName{f.region, f.name, alias.Name})
			list, err = append(list, more...), cmp.Or(err, bad)
		}
		return page.NextMarker, err
	})
	return list, err
}

func (a *account) mappingsOf(ctx context.Context, f functionName) ([]mapping, error) {
	list, err := a.listMappings(ctx, "FunctionName", f.String())
	return slices.DeleteFunc(slices.Clone(list), func(m mapping) bool {
		_, bad := endpoint.ParseARN(m.EventSourceArn)
		return bad != nil
	}), err
}

func (a *account) listMappings(ctx context.Context, by, name string) ([]mapping, error) {
	return a.mappings.get(by+name, func() (list []mapping, err error) {
		err = pages(func(marker string) (next string, err error) {
			var page struct {
				EventSourceMappings []mapping
				NextMarker          string
			}
			query := url.Values{by: {name}, "MaxItems": {"100"}}
			if marker != "" {
				query.Set("Marker", marker)
			}
			err = a.client.Get(ctx, awscall.Lambda, "ListEventSourceMappings", "/2015-03-31/event-source-mappings", query, &page)
			list = append(list, page.EventSourceMappings...)
			return page.NextMarker, err
		})
		return slices.DeleteFunc(list, func(m mapping) bool { return m.State == "Deleting" }), err
	})
}

// maxPages bounds a list: a server may give the same page without end.
const maxPages = 1000

// pages calls get with the mark of each page, "" for the first, until there is no next one.
func pages(get func(mark string) (next string, err error)) error {
	mark := ""
	for range maxPages {
		next, err := get(mark)
		if err != nil || next == "" {
			return err
		}
		mark = next
	}
	return fmt.Errorf("a list has more than %d pages", maxPages)
}

// A function is a function's configuration ("FunctionConfiguration").
type function struct {
	FunctionName, Runtime, Role, PackageType string
	Timeout, MemorySize                      any
	Environment                              struct {
		Variables map[string]string
		Error     map[string]any
	}
	DeadLetterConfig, TenancyConfig, DurableConfig, CapacityProviderConfig map[string]any
}

func (a *account) function(ctx context.Context, f functionName) (*function, error) {
	return a.functions.get(f.String(), func() (*function, error) {
		query := url.Values{}
		if f.qualifier != "" {
			query.Set("Qualifier", f.qualifier)
		}
		var out function
		return &out, a.client.Get(ctx, awscall.Lambda, "GetFunctionConfiguration", "/2015-03-31/functions/"+f.name+"/configuration", query, &out)
	})
}

// reserved is the reserved concurrency of a function, nil if it has none.
func (a *account) reserved(ctx context.Context, name string) (*int, error) {
	return a.limits.get(name, func() (*int, error) {
		var out struct{ ReservedConcurrentExecutions *int }
		err := a.client.Get(ctx, awscall.Lambda, "GetFunctionConcurrency", "/2019-09-30/functions/"+name+"/concurrency", nil, &out)
		return out.ReservedConcurrentExecutions, err
	})
}

// onFailure is a function's destination for failures of asynchronous invocations, "" for none.
func (a *account) onFailure(ctx context.Context, f functionName) (string, error) {
	return a.invokes.get(f.String(), func() (string, error) {
		var out struct {
			DestinationConfig struct{ OnFailure struct{ Destination string } }
		}
		query := url.Values{}
		if f.qualifier != "" {
			query.Set("Qualifier", f.qualifier)
		}
		err := a.client.Get(ctx, awscall.Lambda, "GetFunctionEventInvokeConfig", "/2019-09-25/functions/"+f.name+"/event-invoke-config", query, &out)
		if awscall.Code(err) == "ResourceNotFoundException" {
			err = nil
		}
		return out.DestinationConfig.OnFailure.Destination, err
	})
}

// A role has the documents of its policies, by their names.
type role struct {
	inline, attached map[string]string // attached: by ARN
	known            []string          // ARNs of AWS's policies that the rules know
}

// role reads a role's policies.
func (a *account) role(ctx context.Context, name string) (*role, error) {
	return a.roles.get(name, func() (*role, error) {
		r := &role{inline: map[string]string{}, attached: map[string]string{}}
		names, err := a.iamList(ctx, "ListRolePolicies", name)
		for _, policy := range names {
			var out struct {
				Document string `xml:"GetRolePolicyResult>PolicyDocument"`
			}
			err = cmp.Or(err, a.client.Query(ctx, awscall.IAM, "GetRolePolicy", url.Values{"RoleName": {name}, "PolicyName": {policy}}, &out))
			r.inline[policy] = out.Document
		}
		if err != nil {
			return nil, err
		}
		arns, err := a.iamList(ctx, "ListAttachedRolePolicies", name)
		for _, arn := range arns {
			if err != nil {
				break
			}
			if knownPolicy(arn) {
				r.known = append(r.known, arn)
				continue
			}
			var policy struct {
				Version string `xml:"GetPolicyResult>Policy>DefaultVersionId"`
			}
			var out struct {
				Document string `xml:"GetPolicyVersionResult>PolicyVersion>Document"`
			}
			if err = a.client.Query(ctx, awscall.IAM, "GetPolicy", url.Values{"PolicyArn": {arn}}, &policy); err == nil {
				err = a.client.Query(ctx, awscall.IAM, "GetPolicyVersion", url.Values{"PolicyArn": {arn}, "VersionId": {policy.Version}}, &out)
			}
			r.attached[arn] = out.Document
		}
		return r, err
	})
}

// iamList lists the policies of a role: names of inline ones, or ARNs of attached ones.
func (a *account) iamList(ctx context.Context, operation, role string) (list []string, err error) {
	err = pages(func(marker string) (next string, err error) {
		type result struct {
			Names    []string `xml:"PolicyNames>member"`
			ARNs     []string `xml:"AttachedPolicies>member>PolicyArn"`
			IsMore   bool     `xml:"IsTruncated"`
			NextMark string   `xml:"Marker"`
		}
		var page struct {
			Inline   result `xml:"ListRolePoliciesResult"`
			Attached result `xml:"ListAttachedRolePoliciesResult"`
		}
		in := url.Values{"RoleName": {role}}
		if marker != "" {
			in.Set("Marker", marker)
		}
		err = a.client.Query(ctx, awscall.IAM, operation, in, &page)
		for _, r := range []result{page.Inline, page.Attached} {
			list = slices.Concat(list, r.Names, r.ARNs)
			if r.IsMore {
				next = r.NextMark
			}
		}
		return next, err
	})
	return list, err
}

// A key is one of KMS. AWS's own has no policy here.
type key struct {
	ARN, ID, Policy string
	aws             bool
}

func (a *account) key(ctx context.Context, id string) (*key, error) {
	return a.keys.get(id, func() (*key, error) {
		var described struct {
			KeyMetadata struct{ Arn, KeyId, KeyManager string }
		}
		if err := a.client.JSON(ctx, awscall.KMS, "DescribeKey", map[string]string{"KeyId": id}, &described); err != nil {
			return nil, err
		}
		k := &key{ARN: described.KeyMetadata.Arn, ID: described.KeyMetadata.KeyId, aws: described.KeyMetadata.KeyManager == "AWS"}
		if k.aws {
			return k, nil
		}
		var out struct{ Policy string }
		err := a.client.JSON(ctx, awscall.KMS, "GetKeyPolicy", map[string]string{"KeyId": cmp.Or(k.ARN, k.ID), "PolicyName": "default"}, &out)
		k.Policy = out.Policy
		return k, err
	})
}

// subscribers lists the endpoints of a topic's subscriptions.
func (a *account) subscribers(ctx context.Context, topic string) ([]string, error) {
	return a.topics.get(topic, func() (list []string, err error) {
		err = pages(func(token string) (next string, err error) {
			var page struct {
				Endpoints []string `xml:"ListSubscriptionsByTopicResult>Subscriptions>member>Endpoint"`
				Next      string   `xml:"ListSubscriptionsByTopicResult>NextToken"`
			}
			in := url.Values{"TopicArn": {topic}}
			if token != "" {
				in.Set("NextToken", token)
			}
			err = a.client.Query(ctx, awscall.SNS, "ListSubscriptionsByTopic", in, &page)
			list = append(list, page.Endpoints...)
			return page.Next, err
		})
		return list, err
	})
}

// A dimension is one of a metric.
type dimension struct{ Name, Value string }

// A metric is what an alarm watches.
type metric struct {
	Namespace  string
	MetricName string
	Dimensions []dimension `xml:"Dimensions>member"`
}

// An alarm is one of CloudWatch's on a metric ("MetricAlarm").
type alarm struct {
	metric
	AlarmName string
	Threshold string
	Metrics   []struct {
		Expression string
		Metric     metric `xml:"MetricStat>Metric"`
	} `xml:"Metrics>member"`
}

// allAlarms lists the account's alarms on metrics.
func (a *account) allAlarms(ctx context.Context) ([]alarm, error) {
	return a.alarms.get("", func() (list []alarm, err error) {
		err = pages(func(token string) (next string, err error) {
			var page struct {
				Alarms []alarm `xml:"DescribeAlarmsResult>MetricAlarms>member"`
				Next   string  `xml:"DescribeAlarmsResult>NextToken"`
			}
			in := url.Values{"AlarmTypes.member.1": {"MetricAlarm"}, "MaxRecords": {"100"}}
			if token != "" {
				in.Set("NextToken", token)
			}
			err = a.client.Query(ctx, awscall.CloudWatch, "DescribeAlarms", in, &page)
			list = append(list, page.Alarms...)
			return page.Next, err
		})
		return list, err
	})
}
