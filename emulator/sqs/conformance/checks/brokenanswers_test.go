package checks_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// answerBreakages are wrong where AWS's answers were recorded.
func answerBreakages() []breakage {
	return []breakage{
		{name: "the query protocol is not spoken", fresh: onRequest(func(c *call) {
			if c.form {
				c.skip, c.status = true, http.StatusBadRequest
			}
		}), fails: "query/*"},
		{name: "errors quote the request", fresh: onAnswer(func(c *call) {
			if message := text(c.out["message"]); message != "" {
				c.out["message"] = message + ` Got "x".`
			}
		}), fails: "texts/no-queue texts/batch-id texts/empty-attribute texts/too-large"},
		{name: "entries have a code alone", fresh: onAnswer(func(c *call) {
			failed, _ := c.out["Failed"].([]any)
			for _, f := range failed {
				delete(f.(map[string]any), "Message")
			}
		}), fails: "texts/too-large-in-a-batch"},
		{name: "nothing is an empty object", fresh: onAnswer(func(c *call) {
			c.empty = false
		}), fails: "protocol/empty-body"},
		{name: "queues have URLs only", fresh: onRequest(func(c *call) {
			if url := text(c.in["QueueUrl"]); url != "" && !strings.Contains(url, "/") {
				c.refuse("com.amazonaws.sqs#InvalidAddress", "InvalidAddress")
			}
		}), fails: "protocol/bare-name"},
		{name: "the oldest message is received last", fresh: func() (_, _ func(*call)) {
			opposite := map[string]string{"slow": "quiet", "quiet": "slow", "noisy": "quiet"}
			quiet := false
			return nil, func(c *call) {
				quiet = quiet || c.is("SendMessage") && text(c.in["MessageBody"]) == "quiet"
				for _, m := range c.messages() {
					if quiet {
						m["Body"] = opposite[text(m["Body"])]
					}
				}
			}
		}, fails: "fair/slow-tenant fair/noisy-is-over"},
		{name: "any message in flight locks its group", fresh: func() (_, _ func(*call)) {
			hidden := map[any]bool{} // queues of which a message was hidden anew
			return func(c *call) {
				if c.is("ChangeMessageVisibility") {
					hidden[c.in["QueueUrl"]] = true
				} else if c.is("ReceiveMessage") && hidden[c.in["QueueUrl"]] {
					c.succeed()
				}
			}, nil
		}, fails: "groups/only-earlier groups/released-head"},
		{name: "a group's oldest message comes first", fresh: onAnswer(func(c *call) {
			if all, _ := c.out["Messages"].([]any); len(all) == 2 {
				slices.SortFunc(all, func(a, b any) int {
					return strings.Compare(text(a.(map[string]any)["Body"]), text(b.(map[string]any)["Body"]))
				})
			}
		}), fails: "groups/released-goes-last"},
		{name: "names of attributes are in ASCII", fresh: onRequest(func(c *call) {
			for name := range object(c.in, "MessageAttributes") {
				if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
					c.refuse("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue")
				}
			}
		}), fails: "attributes-of-messages/name-letters"},
		{name: "an asterisk is a name", fresh: onRequest(func(c *call) {
			if names, _ := c.in["MessageAttributeNames"].([]any); len(names) == 1 && names[0] == "*" {
				c.in["MessageAttributeNames"] = []string{"asterisk"}
			}
		}), fails: "selection/asterisk"},
		{name: "booleans are in lower case", fresh: onRequest(func(c *call) {
			if object(c.in, "Attributes")["FifoQueue"] == "True" {
				c.refuse("com.amazonaws.sqs#InvalidAttributeValue", "InvalidAttributeValue")
			}
		}), fails: "attributes/capital-booleans"},
		{name: "late changes of the visibility timeout are refused", fresh: onRequest(func(c *call) {
			if seconds, _ := c.in["VisibilityTimeout"].(json.Number); c.is("ChangeMessageVisibility") && seconds == "2" {
				c.refuse("com.amazonaws.sqs#MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight")
			}
		}), fails: "visibility/late"},
		{name: "what is deleted can be hidden", fresh: onAnswer(func(c *call) {
			failed, _ := c.out["Failed"].([]any)
			for _, f := range failed {
				c.out["Successful"] = append(c.out["Successful"].([]any), map[string]any{"Id": f.(map[string]any)["Id"]})
			}
			delete(c.out, "Failed")
			if c.is("ChangeMessageVisibility") && c.status != http.StatusOK {
				c.succeed()
			}
		}), fails: "visibility/deleted visibility/deleted-in-a-batch"},
		{name: "characters of attributes are contents", fresh: onAnswer(func(c *call) {
			if c.is("SendMessage") && c.status != http.StatusOK {
				c.refuse("com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents")
			}
		}), fails: "attributes-of-messages/characters"},
		{name: "a purge forgets no send", fresh: func() (_, _ func(*call)) {
			purged := false
			return func(c *call) {
				if purged = purged || c.is("PurgeQueue"); purged && c.is("SendMessage") {
					c.succeed()
				}
			}, nil
		}, fails: "deduplication/purge"},
	}
}
