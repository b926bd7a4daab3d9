package containers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/engine"
	"github.com/sqsbatch/sqsbatch/test/internal/await"
	"github.com/sqsbatch/sqsbatch/test/internal/freeport"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsqueue"
	"go.yaml.in/yaml/v3"
)

// settings are what deploy/kubernetes sets, read from the file that users copy.
type settings struct {
	env   map[string]string
	grace time.Duration // after which the platform kills
}

func readSettings(root string) (*settings, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "kubernetes", "deployment.yaml"))
	if err != nil {
		return nil, err
	}
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
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	s := &settings{env: map[string]string{}, grace: time.Duration(d.Spec.Template.Spec.Grace) * time.Second}
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, v := range c.Env {
			s.env[v.Name] = v.Value
		}
	}
	return s, nil
}

// start runs the image as the deployments do: read-only, without capabilities,
// with their settings, but for the addresses. It returns where the health checks are.
func start(ctx context.Context, e *engine.Engine, s *settings, q *queues) (id, health string, err error) {
	if health, err = freeport.Address(); err != nil {
		return "", "", err
	}
	args := []string{"run", "--detach", "--network=host", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"}
	env := map[string]string{
		"SQSBATCH_QUEUE_URL": q.url, "SQSBATCH_DEAD_LETTER_QUEUE": q.deadURL, "SQSBATCH_HEALTH_ADDR": health,
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	}
	for name, value := range s.env {
		if _, ours := env[name]; !ours {
			env[name] = value
		}
	}
	for name, value := range env {
		args = append(args, "--env", name+"="+value)
	}
	id, err = e.Output(ctx, append(args, image)...)
	return id, health, err
}

// stopContainer returns the exit code, 137 of one that is killed, and the time.
func stopContainer(ctx context.Context, e *engine.Engine, id string, grace time.Duration) (code int, took time.Duration, err error) {
	begin := time.Now()
	if _, err := e.Output(ctx, "stop", "--time", strconv.Itoa(int(grace/time.Second)), id); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	code, err = exitCode(ctx, e, id)
	return code, took, err
}

func exitCode(ctx context.Context, e *engine.Engine, id string) (int, error) {
	out, err := e.Output(ctx, "inspect", "--format", "{{.State.ExitCode}}", id)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// checkRuns has the image handle orders, be asked for its health, and stop.
func checkRuns(ctx context.Context, e *engine.Engine, root string) error {
	s, err := readSettings(root)
	if err != nil {
		return err
	}
	q, err := serveQueues(ctx)
	if err != nil {
		return err
	}
	defer q.close()
	for _, c := range []struct {
		what string
		run  func() error
	}{
		{"orders", func() error { return orders(ctx, e, s, q) }},
		{"a stop at work", func() error { return stopAtWork(ctx, e, s, q) }},
		{"a wrong queue", func() error { return wrongQueue(ctx, e, s, q) }},
	} {
		if err := c.run(); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return nil
}

// orders are handled, those that cannot be shipped are dead letters, the health
// check of Amazon ECS passes, and a stop without work takes no time.
func orders(ctx context.Context, e *engine.Engine, s *settings, q *queues) (err error) {
	id, health, err := start(ctx, e, s, q)
	if err != nil {
		return err
	}
	defer func() { err = withLog(ctx, e, id, err) }()
	const good = 50
	for i := range good {
		if err := q.send(ctx, fmt.Sprintf(`{"id":"o-%d","sku":"ok","quantity":1}`, i)); err != nil {
			return err
		}
	}
	if err := q.send(ctx, `{"id":"o-x","sku":"unknown","quantity":1}`); err != nil {
		return err
	}
	if err := await.Until(ctx, 30*time.Second, func() error { return q.counts(ctx, 0, 0, 1) }); err != nil {
		return err
	}
	if _, err := e.Output(ctx, "exec", id, "/livez"); err != nil {
		return err
	}
	if err := get(ctx, "http://"+health+"/readyz"); err != nil {
		return err
	}
	code, took, err := stopContainer(ctx, e, id, s.grace)
	if err != nil {
		return err
	}
	if code != 0 || took > 5*time.Second {
		return fmt.Errorf("an idle stop took %v and ended with %d", took, code)
	}
	fmt.Printf("%d orders handled, 1 dead letter; /livez passes; a stop without work took %.1f s\n", good, took.Seconds())
	return nil
}

// stopAtWork stops the program while a handler ignores that: the platform must not
// have to kill, and the order stays hidden.
func stopAtWork(ctx context.Context, e *engine.Engine, s *settings, q *queues) (err error) {
	id, _, err := start(ctx, e, s, q)
	if err != nil {
		return err
	}
	defer func() { err = withLog(ctx, e, id, err) }()
	if err := q.send(ctx, `{"id":"o-h","sku":"hang:1h","quantity":1}`); err != nil {
		return err
	}
	if err := await.Until(ctx, 30*time.Second, func() error { return q.counts(ctx, 0, 1, 1) }); err != nil {
		return err
	}
	code, took, err := stopContainer(ctx, e, id, s.grace)
	if err != nil {
		return err
	}
	limit, err := time.ParseDuration(s.env["SQSBATCH_DRAIN_LIMIT"])
	if err != nil {
		return err
	}
	if code != 0 || took < limit || took > s.grace-500*time.Millisecond {
		return fmt.Errorf("took %v and ended with %d: want from the drain limit %v to well before the kill at %v, and 0", took, code, limit, s.grace)
	}
	if err := q.counts(ctx, 0, 1, 1); err != nil {
		return fmt.Errorf("after the stop the order is not left alone: %w", err)
	}
	fmt.Printf("a stop with a handler that hangs took %.1f s of %v, and the order is left alone\n", took.Seconds(), s.grace)
	return q.purge(ctx)
}

// wrongQueue is a mistake that a deployment must see: the program ends at once.
func wrongQueue(ctx context.Context, e *engine.Engine, s *settings, q *queues) error {
	id, _, err := start(ctx, e, s, &queues{url: q.url + "-not", deadURL: q.deadURL})
	if err != nil {
		return err
	}
	ended, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	code, err := e.Output(ended, "wait", id)
	if err != nil || code != "1" {
		return withLog(ctx, e, id, fmt.Errorf("the program ended with %q (%v), want 1", code, err))
	}
	said, err := e.Docker(ctx, "logs", id).CombinedOutput()
	if err != nil || !strings.Contains(string(said), q.url+"-not") {
		return fmt.Errorf("the program does not name the queue: %s", said)
	}
	fmt.Println("a wrong queue ends the program with 1 and its name")
	return nil
}

// withLog adds what the program said to an error.
func withLog(ctx context.Context, e *engine.Engine, id string, err error) error {
	if err == nil {
		return nil
	}
	said, logErr := e.Docker(ctx, "logs", "--tail", "20", id).CombinedOutput()
	return fmt.Errorf("%w\nthe program said (%v):\n%s", err, logErr, said)
}

// queues are a queue and its dead-letter queue, on a server of their own.
type queues struct {
	server       *sqs.Server
	client       *awssqs.Client
	url, deadURL string
}

func serveQueues(ctx context.Context) (*queues, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Options{})
	if err != nil {
		return nil, err
	}
	q := &queues{server: server, client: server.Client()}
	for name, url := range map[string]*string{"orders": &q.url, "orders-dead": &q.deadURL} {
		if *url, err = sqsqueue.Make(ctx, q.client, name, nil); err != nil {
			return nil, errors.Join(err, server.Close())
		}
	}
	return q, nil
}

func (q *queues) close() { _ = q.server.Close() }

func (q *queues) send(ctx context.Context, body string) error {
	_, err := q.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body})
	return err
}

func (q *queues) purge(ctx context.Context) error {
	_, err := q.client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: &q.url})
	return err
}

// counts wants so many messages to be visible, in flight and dead.
func (q *queues) counts(ctx context.Context, visible, inFlight, dead int) error {
	nowVisible, nowInFlight, err := sqsqueue.Depth(ctx, q.client, q.url)
	if err != nil {
		return err
	}
	nowDead, _, err := sqsqueue.Depth(ctx, q.client, q.deadURL)
	if err == nil && (nowVisible != visible || nowInFlight != inFlight || nowDead != dead) {
		err = fmt.Errorf("%d visible, %d in flight, %d dead", nowVisible, nowInFlight, nowDead)
	}
	return err
}

func get(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}
