package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
	"go.yaml.in/yaml/v3"
)

// checkContainers checks deploy and the Dockerfile with the tools that read them:
// Kubernetes' schemas, the rules of BuildKit, Pod Security and KEDA (upstream), and a
// Docker engine, which builds the image and runs it against an SQS.
//
// It needs Python 3 with its venv module, and PyPI and the Go module proxy on
// the first use. The engine is one of its own, without a registry and without a
// network: that needs Linux, root, dockerd and a static busybox (Debian:
// docker.io, busybox-static).
//
// What deploy says against the code is tested by the tests in deploy, its
// CloudFormation templates are linted with all others by package sam.
func checkContainers(ctx context.Context, s *tools.Stage) error {
	rendered := filepath.Join(s.Tmp, "rendered.yaml")
	s.Step("upstream", func() error { return runUpstream(ctx, s.Root, rendered) })
	s.Step("manifests", func() error { return checkManifests(ctx, s, rendered) })
	s.Step("image", func() error { return checkImage(ctx, s) })
	return nil
}

// kubernetesValidate brings the schemas of Kubernetes along.
const kubernetesValidate = "1.37.0"

// runUpstream runs the checks that are in a module of their own.
func runUpstream(ctx context.Context, root, rendered string) error {
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-root", root, "-rendered", rendered)
	cmd.Dir = filepath.Join(root, "test", "compat", "upstream")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// checkManifests holds Kubernetes' own kinds against their schemas.
func checkManifests(ctx context.Context, s *tools.Stage, rendered string) (err error) {
	defer must.Return(&err)
	if _, err := os.Stat(rendered); err != nil {
		return fmt.Errorf("%w: Kustomize made nothing", tools.ErrNotRun)
	}
	env := must.Get(tools.InstallPython(ctx, "kubernetes-validate-"+kubernetesValidate, "kubernetes-validate=="+kubernetesValidate))
	must.Get(s.Log.Run(env.Command(ctx, "-m", "kubernetes_validate", "--strict", "--no-warn", rendered)))
	fmt.Println("the manifests are as the schemas of Kubernetes " + kubernetesValidate + " want them")
	return nil
}

const image = "sqsbatch.example/orders:here"

// checkImage builds the image as the Dockerfile says, looks into it, and runs it.
func checkImage(ctx context.Context, s *tools.Stage) (err error) {
	defer must.Return(&err)
	e := must.Get(tools.StartEngine(ctx, filepath.Join(s.Tmp, "engine"), tools.EngineOptions{}))
	defer func() { err = errors.Join(err, e.Stop()) }()
	begin := time.Now()
	if err := importBase(ctx, e, s); err != nil {
		return fmt.Errorf("an image with Go: %w", err)
	}
	fmt.Printf("an image with this machine's Go: %.1f s\n", time.Since(begin).Seconds())

	begin = time.Now()
	must.Get(s.Log.Run(e.Docker(ctx, "build", "--progress=plain", "--network=none", "--build-arg", "GO_IMAGE="+goImage,
		"--build-arg", "GOPROXY=file:///"+modules, "--tag", image, s.Root)))
	fmt.Printf("docker build: %.1f s\n", time.Since(begin).Seconds())
	if err := errors.Join(checkConfig(ctx, e), checkFiles(ctx, e)); err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	return checkRuns(ctx, e, s.Root)
}

func checkConfig(ctx context.Context, e *tools.Engine) (err error) {
	defer must.Return(&err)
	out := must.Get(e.Output(ctx, "image", "inspect", image))
	var all []struct {
		Config struct {
			User, StopSignal string
			Entrypoint, Cmd  []string
		}
	}
	must.Do(json.Unmarshal([]byte(out), &all))
	c := all[0].Config
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" || !slices.Equal(c.Entrypoint, []string{"/app"}) || len(c.Cmd) > 0 {
		return fmt.Errorf("is run as %+v", c)
	}
	return nil
}

// checkFiles wants static programs and certificates, and nothing else.
func checkFiles(ctx context.Context, e *tools.Engine) (err error) {
	defer must.Return(&err)
	id := must.Get(e.Output(ctx, "create", "--network=none", image))
	archive, err := e.Docker(ctx, "export", id).Output()
	if err != nil {
		return fmt.Errorf("docker export: %w", err)
	}
	must.Get(e.Output(ctx, "rm", id))
	var names []string
	var size int64
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must.Do(err)
		// What is empty is where the engine mounts something of its own.
		if h.Typeflag != tar.TypeReg || h.Size == 0 {
			continue
		}
		names, size = append(names, h.Name), size+h.Size
		if h.Name == "app" || h.Name == "livez" {
			program, err := io.ReadAll(r)
			if err == nil {
				err = tools.CheckELF(bytes.NewReader(program), runtime.GOARCH)
			}
			if err != nil {
				return fmt.Errorf("/%s %w", h.Name, err)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"app", "etc/ssl/certs/ca-certificates.crt", "livez"}; !slices.Equal(names, want) {
		return fmt.Errorf("has %v, want %v", names, want)
	}
	fmt.Printf("the image has static programs and certificates, %.1f MB\n", float64(size)/1e6)
	return nil
}

// What the image of the build stage is called, and where modules are in it.
const (
	goImage = "sqsbatch.example/golang:here"
	modules = "modules"
)

// certificates is where Debian has them, and with it the official Go image.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// importBase gives the engine an image for the official one of Go: this machine's
// Go, certificates, a shell, and the modules of the build.
func importBase(ctx context.Context, e *tools.Engine, s *tools.Stage) (err error) {
	defer must.Return(&err)
	if _, err := os.Stat(certificates); err != nil {
		return fmt.Errorf("%w: %w (Debian: ca-certificates)", tools.ErrNotRun, err)
	}
	goroot := goEnv(ctx, "GOROOT")
	cache := filepath.Join(s.Tmp, modules)
	downloadModules(ctx, s, cache)
	env := []string{"ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local"}
	return e.Import(ctx, goImage, env, func(w *tar.Writer) (err error) {
		defer must.Return(&err)
		must.Do(tools.Busybox(w, "sh"))
		for from, to := range map[string]string{
			certificates:                           strings.TrimPrefix(certificates, "/"),
			filepath.Join(goroot, "VERSION"):       "usr/local/go/VERSION",
			filepath.Join(goroot, "go.env"):        "usr/local/go/go.env",
			filepath.Join(goroot, "bin"):           "usr/local/go/bin",
			filepath.Join(goroot, "pkg"):           "usr/local/go/pkg",
			filepath.Join(goroot, "src"):           "usr/local/go/src",
			filepath.Join(cache, "cache/download"): modules,
		} {
			must.Do(tools.WriteTree(w, from, to))
		}
		return nil
	})
}

// downloadModules fills a module cache with what the module needs.
func downloadModules(ctx context.Context, s *tools.Stage, cache string) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-modcacherw")
	cmd.Dir = s.Root
	here := filepath.ToSlash(filepath.Join(goEnv(ctx, "GOMODCACHE"), "cache", "download"))
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOPROXY=file://"+here+","+goEnv(ctx, "GOPROXY"))
	must.Get(s.Log.Run(cmd))
}

func goEnv(ctx context.Context, name string) string {
	out, err := exec.CommandContext(ctx, "go", "env", name).CombinedOutput()
	if err != nil {
		must.Failf("go env %s: %w\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

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
	*tools.Engine
	*settings
	*servedQueues
	id, health string // health is where the health checks are
}

// runContainer runs the image as the deployments do: read-only, without capabilities,
// with their settings, but for the addresses.
func runContainer(ctx context.Context, e *tools.Engine, s *settings, q *servedQueues, url string) *container {
	c := &container{Engine: e, settings: s, servedQueues: q, health: must.Get(harness.FreeAddress())}
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
func checkRuns(ctx context.Context, e *tools.Engine, root string) (err error) {
	defer must.Return(&err)
	s, q := readSettings(root), must.Get(serveQueues(ctx))
	defer q.close()
	for _, step := range []struct {
		what, url string
		run       func(context.Context, *container) error
	}{
		{"orders", q.url, handleOrders},
		{"a stop at work", q.url, stopAtWork},
		{"a wrong queue", q.url + "-not", wrongQueue},
	} {
		c := runContainer(ctx, e, s, q, step.url)
		if err := step.run(ctx, c); err != nil {
			said, logErr := e.Docker(ctx, "logs", "--tail", "20", c.id).CombinedOutput()
			return fmt.Errorf("%s: %w\nthe program said (%v):\n%s", step.what, err, logErr, said)
		}
	}
	return nil
}

// handleOrders are handled, those that cannot be shipped are dead letters, the health
// check of Amazon ECS passes, and a stop without work takes no time.
func handleOrders(ctx context.Context, c *container) (err error) {
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

// servedQueues are a queue and its dead-letter queue, on a server of their own.
type servedQueues struct {
	server       *sqs.Server
	client       *awssqs.Client
	url, deadURL string
}

func serveQueues(ctx context.Context) (*servedQueues, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		return nil, err
	}
	q := &servedQueues{server: server, client: server.Client()}
	for name, url := range map[string]*string{"orders": &q.url, "orders-dead": &q.deadURL} {
		if *url, err = harness.MakeQueue(ctx, q.client, name, nil); err != nil {
			return nil, errors.Join(err, server.Close())
		}
	}
	return q, nil
}

func (q *servedQueues) close() { _ = q.server.Close() }

func (q *servedQueues) send(ctx context.Context, body string) {
	must.Get(q.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}))
}

// counts wants so many messages to be visible, in flight and dead.
func (q *servedQueues) counts(ctx context.Context, visible, inFlight, dead int) (err error) {
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
