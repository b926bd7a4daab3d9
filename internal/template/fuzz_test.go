package template_test

import (
	"os"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// FuzzResolve: whatever the file holds, there is a deployment or an error, and
// a deployment is complete. So are the queues by themselves.
func FuzzResolve(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	ok(f, err)
	f.Add(full)
	f.Add([]byte(two))
	f.Add([]byte(function("Timeout: !If [C, 1, 2]", "FifoQueue: true")))
	f.Add([]byte("Resources: &r {F: {Type: AWS::Serverless::Function, Properties: {Events: {E: *r}}}}"))
	f.Add([]byte("Resources: {Q: &a [*a]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tmpl, err := template.Parse(data)
		if err != nil {
			return
		}
		st, err := tmpl.Stack(template.Options{})
		ok(t, err)
		queues, _, err := st.Queues()
		for _, q := range queues {
			if err == nil && (q.ARN == "" || q.Attributes == nil) {
				t.Errorf("%+v", q)
			}
		}
		d, err := tmpl.Resolve(template.Options{Function: "F"})
		if err != nil {
			return
		}
		if d.Function.Timeout <= 0 || d.Queue.Name == "" || d.Queue.ARN != d.Event.QueueARN {
			t.Errorf("%+v", d)
		}
	})
}
