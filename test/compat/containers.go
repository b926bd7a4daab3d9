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

// checkRuns runs the image as the deployments do: read-only, without capabilities, with the settings of
// deploy/kubernetes, but for the addresses. It handles orders, those that cannot be shipped are dead
// letters, the health checks pass, and a stop without work takes no time.
func checkRuns(ctx context.Context, e *tools.Engine, root string) (err error) {
	defer must.Return(&err)
	server := must.Get(sqs.Serve("127.0.0.1:0", sqs.Config{}))
	defer server.Close()
	client, health := server.Client(), must.Get(harness.FreeAddress())
	queue, dead := must.Get2(harness.MakeQueues(ctx, client, "orders", "orders-dead", 5))
	env := settings(root)
	maps.Copy(env, map[string]string{
		"SQSBATCH_QUEUE_URL": queue, "SQSBATCH_DEAD_LETTER_QUEUE": dead, "SQSBATCH_HEALTH_ADDR": health,
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	})
	args := []string{"run", "--detach", "--network=host", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"}
	for name, value := range env {
		args = append(args, "--env", name+"="+value)
	}
	id := must.Get(e.Output(ctx, append(args, image)...))
	defer func() {
		if err != nil {
			said, logErr := e.Docker(ctx, "logs", "--tail", "20", id).CombinedOutput()
			err = fmt.Errorf("%w\nthe program said (%v):\n%s", err, logErr, said)
		}
	}()
	return must.Run(func() {
		const good = 50
		for i := range good + 1 {
			body := fmt.Sprintf(`{"id":"o-%d","sku":%q,"quantity":1}`, i, map[bool]string{false: "ok", true: "unknown"}[i == good])
			must.Get(client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body}))
		}
		must.Do(harness.Until(ctx, 30*time.Second, func() error {
			letters, _, err := harness.Depth(ctx, client, dead)
			if letters != 1 {
				err = fmt.Errorf("%d dead letters (%v)", letters, err)
			}
			return errors.Join(err, harness.RequireEmpty(ctx, client, queue))
		}))
		must.Get(e.Output(ctx, "exec", id, "/livez")) // the health check of Amazon ECS
		answer := must.Get(http.Get("http://" + health + "/readyz"))
		_ = answer.Body.Close()
		begin := time.Now()
		must.Get(e.Output(ctx, "stop", id))
		took, code := time.Since(begin), must.Get(e.Output(ctx, "inspect", "--format", "{{.State.ExitCode}}", id))
		if answer.StatusCode != http.StatusOK || code != "0" || took > 5*time.Second {
			must.Failf("/readyz answered %s, an idle stop took %v and ended with %s", answer.Status, took, code)
		}
		fmt.Printf("%d orders handled, 1 dead letter; /livez passes; a stop without work took %.1f s\n", good, took.Seconds())
	})
}

// settings are the variables of deploy/kubernetes, read from the file that users copy.
func settings(root string) map[string]string {
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Env []struct{ Name, Value string }
					}
				}
			}
		}
	}
	must.Do(yaml.Unmarshal(must.Get(os.ReadFile(filepath.Join(root, "deploy", "kubernetes", "deployment.yaml"))), &d))
	env := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	return env
}
