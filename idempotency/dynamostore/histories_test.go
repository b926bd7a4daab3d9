package dynamostore_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
)

// historiesOf are histories with faults between AWS's client, which retries, and a server. In
// real time many are made at once, since they mostly wait.
func historiesOf(s server, change func(http.RoundTripper) http.RoundTripper) histories.Config {
	c := histories.Config{
		Histories: 100, Lease: time.Second, Lag: 100 * time.Millisecond, Slack: 2 * time.Millisecond, Test: s.test,
		Store: func(f *histories.Faults) idempotency.Store {
			return dynamostore.New(clientOf(f.Transport(change(s.transport())), s.endpoint, func(o *dynamodb.Options) {
				o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = s.backoff })
			}), plainTable)
		},
	}
	if s.name != "fake" {
		c.Histories, c.AtOnce, c.Lease, c.Lag = 40, 10, 200*time.Millisecond, 10*time.Millisecond
	}
	return c
}

func unchanged(server http.RoundTripper) http.RoundTripper { return server }

func TestHistories(t *testing.T) {
	for _, server := range servers(t, "id") {
		t.Run(server.name, func(t *testing.T) { histories.Check(t, historiesOf(server, unchanged)) })
	}
}

// Each part of the conditions matters: without it there is a history that shows it.
func TestHistories_FindConditionsThatAreMissing(t *testing.T) {
	for name, m := range map[string]struct{ operation, part, instead string }{
		"Claim that is not refused":        {"PutItem", "attribute_not_exists(#key)", "attribute_not_exists(#key) OR #key = #key"},
		"Claim before the end":             {"PutItem", "#ends < :now_ms", "#key = #key"},
		"Claim of a completion":            {"PutItem", "#status = :in_progress AND ", ""},
		"Claim never after the end":        {"PutItem", "#ends < :now_ms OR ", ""},
		"Claim of the same owner shortens": {"PutItem", "(#owner = :owner AND #ends < :ends)", "#owner = :owner"},
		"Renew by others":                  {"UpdateItem", "#owner = :owner AND #status", "#status"},
		"Renew of a completion":            {"UpdateItem", " AND #status = :in_progress AND", " AND"},
		"Renew shortens":                   {"UpdateItem", " AND #ends < :ends", ""},
		"Complete by others":               {"UpdateItem", "only #owner = :owner", ""},
		"Release by others":                {"DeleteItem", "#owner = :owner AND ", ""},
		"Release of a completion":          {"DeleteItem", " AND #status = :in_progress", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := historiesOf(fake("id"), func(server http.RoundTripper) http.RoundTripper {
				return changed{server, m.operation, m.part, m.instead}
			})
			c.Histories = 500
			if _, illegal := histories.Find(t, c); illegal == "" {
				t.Errorf("%d histories show nothing", c.Histories)
			}
		})
	}
}

// changed changes the conditions of requests on their way, those that have the part, or with
// "only " before it, those that are the part.
type changed struct {
	server                   http.RoundTripper
	operation, part, instead string
}

func (c changed) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.operation) {
		if body, err = c.change(body); err != nil {
			return nil, err
		}
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return c.server.RoundTrip(again)
}

// change changes the condition, and takes away the placeholders that it does not have any more.
func (c changed) change(body []byte) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	condition, _ := all["ConditionExpression"].(string)
	update, _ := all["UpdateExpression"].(string)
	if part, only := strings.CutPrefix(c.part, "only "); !only {
		condition = strings.Replace(condition, part, c.instead, 1)
	} else if condition == part {
		condition = c.instead
	}
	all["ConditionExpression"] = condition
	used := token.FindAllString(condition+" "+update, -1)
	for _, member := range []string{"ExpressionAttributeNames", "ExpressionAttributeValues"} {
		if placeholders, ok := all[member].(map[string]any); ok {
			maps.DeleteFunc(placeholders, func(name string, _ any) bool { return !slices.Contains(used, name) })
		}
	}
	return json.Marshal(all)
}
