package containers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/engine"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"go.yaml.in/yaml/v3"
)

// settings are what deploy/kubernetes sets, read from the file that users copy.
type settings struct {
	env   map[string]string
	grace time.Duration // after which the platform kills
}

func readSettings(root string) *settings {
	text := must.Get(os.ReadFile(filepath.Join(root, "deploy", "kubernetes", "deployment.yaml")))
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Grace      int `yaml:"terminationGracePeriodSeconds"`
					Containers []struct {
						Env []struct {
							Name  string `yaml:"name"`
							Value string `yaml:"value"`
						} `yaml:"env"`
					} `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	must.Do(yaml.Unmarshal(text, &d))
	s := &settings{env: map[string]string{}, grace: time.Duration(d.Spec.Template.Spec.Grace) * time.Second}
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, v := range c.Env {
			s.env[v.Name] = v.Value
		}
	}
	return s
}

// A container runs the image.
type container struct {
	*engine.Engine
	*settings
	*queues
	id, health string // health is where the health checks are
}

// start runs the image as the deployments do: read-only, without capabilities,
// with their settings, but for the addresses.
func start(ctx context.Context, e *engine.Engine, s *settings, q *queues, url string) *container {
	c := &container{Engine: e, settings: s, queues: q, health: must.Get(harness.FreeAddress())}
	env := maps.Clone(s.env)
	maps.Copy(env, map[string]string{
		"SQSBATCH_QUEUE_URL": url, "SQSBATCH_DEAD_LETTER_QUEUE": q.deadURL, "SQSBATCH_HEALTH_ADDR": c.health,
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	})
	args := []string{"run", "--detach", "--network=host", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"}
	for name, value := range env {
		args = append(args, "--env", name+"="+value)
	}
	c.id = must.Get(e.Output(ctx, append(args, image)...))
	return c
}

// stop returns the exit code, 137 of one that is killed, and the time.
func (c *container) stop(ctx context.Context) (code int, took time.Duration) {
	begin := time.Now()
	must.Get(c.Output(ctx, "stop", "--time", strconv.Itoa(int(c.grace/time.Second)), c.id))
	took = time.Since(begin)
	return must.Get(strconv.Atoi(must.Get(c.Output(ctx, "inspect", "--format", "{{.State.ExitCode}}", c.id)))), took
}

// checkRuns has the image handle orders, be asked for its health, and stop.
func checkRuns(ctx context.Context, e *engine.Engine, root string) (err error) {
	defer must.Return(&err)
	s, q := readSettings(root), must.Get(serveQueues(ctx))
	defer q.close()
	for _, step := range []struct {
		what, url string
		run       func(context.Context, *container) error
	}{
		{"orders", q.url, orders},
		{"a stop at work", q.url, stopAtWork},
		{"a wrong queue", q.url + "-not", wrongQueue},
	} {
		c := start(ctx, e, s, q, step.url)
		if err := step.run(ctx, c); err != nil {
			said, logErr := e.Docker(ctx, "logs", "--tail", "20", c.id).CombinedOutput()
			return fmt.Errorf("%s: %w\nthe program said (%v):\n%s", step.what, err, logErr, said)
		}
	}
	return nil
}

// orders are handled, those that cannot be shipped are dead letters, the health
// check of Amazon ECS passes, and a stop without work takes no time.
func orders(ctx context.Context, c *container) (err error) {
	defer must.Return(&err)
	const good = 50
	for i := range good {
		c.send(ctx, fmt.Sprintf(`{"id":"o-%d","sku":"ok","quantity":1}`, i))
	}
	c.send(ctx, `{"id":"o-x","sku":"unknown","quantity":1}`)
	must.Do(harness.Until(ctx, 30*time.Second, func() error { return c.counts(ctx, 0, 0, 1) }))
	must.Get(c.Output(ctx, "exec", c.id, "/livez"))
	must.Do(get(ctx, "http://"+c.health+"/readyz"))
	code, took := c.stop(ctx)
	if code != 0 || took > 5*time.Second {
		return fmt.Errorf("an idle stop took %v and ended with %d", took, code)
	}
	fmt.Printf("%d orders handled, 1 dead letter; /livez passes; a stop without work took %.1f s\n", good, took.Seconds())
	return nil
}

// stopAtWork stops the program while a handler ignores that: the platform must not
// have to kill, and the order stays hidden.
func stopAtWork(ctx context.Context, c *container) (err error) {
	defer must.Return(&err)
	c.send(ctx, `{"id":"o-h","sku":"hang:1h","quantity":1}`)
	must.Do(harness.Until(ctx, 30*time.Second, func() error { return c.counts(ctx, 0, 1, 1) }))
	code, took := c.stop(ctx)
	limit := must.Get(time.ParseDuration(c.env["SQSBATCH_DRAIN_LIMIT"]))
	if code != 0 || took < limit || took > c.grace-500*time.Millisecond {
		return fmt.Errorf("took %v and ended with %d: want from the drain limit %v to well before the kill at %v, and 0", took, code, limit, c.grace)
	}
	if err := c.counts(ctx, 0, 1, 1); err != nil {
		return fmt.Errorf("after the stop the order is not left alone: %w", err)
	}
	fmt.Printf("a stop with a handler that hangs took %.1f s of %v, and the order is left alone\n", took.Seconds(), c.grace)
	_, err = c.client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: &c.url})
	return err
}

// wrongQueue is a mistake that a deployment must see: the program ends at once.
func wrongQueue(ctx context.Context, c *container) error {
	ended, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if code, err := c.Output(ended, "wait", c.id); err != nil || code != "1" {
		return fmt.Errorf("the program ended with %q (%v), want 1", code, err)
	}
	said, err := c.Docker(ctx, "logs", c.id).CombinedOutput()
	if err != nil || !strings.Contains(string(said), c.url+"-not") {
		return errors.New("the program does not name the queue")
	}
	fmt.Println("a wrong queue ends the program with 1 and its name")
	return nil
}

// queues are a queue and its dead-letter queue, on a server of their own.
type queues struct {
	server       *sqs.Server
	client       *awssqs.Client
	url, deadURL string
}

func serveQueues(ctx context.Context) (*queues, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		return nil, err
	}
	q := &queues{server: server, client: server.Client()}
	for name, url := range map[string]*string{"orders": &q.url, "orders-dead": &q.deadURL} {
		if *url, err = harness.MakeQueue(ctx, q.client, name, nil); err != nil {
			return nil, errors.Join(err, server.Close())
		}
	}
	return q, nil
}

func (q *queues) close() { _ = q.server.Close() }

func (q *queues) send(ctx context.Context, body string) {
	must.Get(q.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}))
}

// counts wants so many messages to be visible, in flight and dead.
func (q *queues) counts(ctx context.Context, visible, inFlight, dead int) (err error) {
	defer must.Return(&err)
	nowVisible, nowInFlight := must.Get2(harness.Depth(ctx, q.client, q.url))
	nowDead, _ := must.Get2(harness.Depth(ctx, q.client, q.deadURL))
	if nowVisible != visible || nowInFlight != inFlight || nowDead != dead {
		return fmt.Errorf("%d visible, %d in flight, %d dead", nowVisible, nowInFlight, nowDead)
	}
	return nil
}

func get(ctx context.Context, url string) (err error) {
	defer must.Return(&err)
	answer := must.Get(http.DefaultClient.Do(must.Get(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))))
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}
