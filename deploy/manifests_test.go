package deploy_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

type deployment struct {
	Spec struct {
		Replicas *int `yaml:"replicas"`
		Template struct {
			Spec struct {
				ServiceAccountName string `yaml:"serviceAccountName"`
				GraceSeconds       *int   `yaml:"terminationGracePeriodSeconds"`
				SecurityContext    struct {
					RunAsUser string `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []struct {
					Env []struct {
						Name  string `yaml:"name"`
						Value string `yaml:"value"`
					} `yaml:"env"`
					Ports []struct {
						Name          string `yaml:"name"`
						ContainerPort string `yaml:"containerPort"`
					} `yaml:"ports"`
					Liveness  probe `yaml:"livenessProbe"`
					Readiness probe `yaml:"readinessProbe"`
					Lifecycle any   `yaml:"lifecycle"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

type scaledObject struct {
	Spec struct {
		ScaleTargetRef struct {
			Name string `yaml:"name"`
		} `yaml:"scaleTargetRef"`
		MinReplicaCount int `yaml:"minReplicaCount"`
		CooldownPeriod  int `yaml:"cooldownPeriod"`
		Triggers        []struct {
			Type     string            `yaml:"type"`
			Metadata map[string]string `yaml:"metadata"`
		} `yaml:"triggers"`
	} `yaml:"spec"`
}

// read decodes the first document of a file.
func read[T any](t *testing.T, path string) (v T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := yaml.NewDecoder(f).Decode(&v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func pod(t *testing.T) (d deployment, env map[string]string) {
	t.Helper()
	d = read[deployment](t, "kubernetes/deployment.yaml")
	if n := len(d.Spec.Template.Spec.Containers); n != 1 {
		t.Fatalf("%d containers", n)
	}
	env = map[string]string{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	return d, env
}

func TestPodDrainsBeforeItIsKilled(t *testing.T) {
	d, env := pod(t)
	spec := d.Spec.Template.Spec
	if spec.GraceSeconds == nil {
		t.Fatal("terminationGracePeriodSeconds is not said")
	}
	checkStop(t, "kubernetes", env["SQSBATCH_DRAIN_LIMIT"], time.Duration(*spec.GraceSeconds)*time.Second)
	if spec.Containers[0].Lifecycle != nil {
		t.Error("a preStop hook takes its time from the drain")
	}
}

func TestPodSetsWhatIsRead(t *testing.T) {
	d, env := pod(t)
	var names []string
	for name := range env {
		names = append(names, name)
	}
	checkVariables(t, "kubernetes", names)
	if got := d.Spec.Template.Spec.SecurityContext.RunAsUser; got != user {
		t.Errorf("runs as user %s, the image as %s", got, user)
	}
}

// The kubelet asks from outside of the pod, at the port that the program serves.
func TestProbesAskWhereHealthIsServed(t *testing.T) {
	d, env := pod(t)
	c := d.Spec.Template.Spec.Containers[0]
	if c.Liveness.HTTPGet.Path != "/livez" || c.Readiness.HTTPGet.Path != "/readyz" {
		t.Errorf("probes ask for %q and %q", c.Liveness.HTTPGet.Path, c.Readiness.HTTPGet.Path)
	}
	if len(c.Ports) != 1 || c.Liveness.HTTPGet.Port != c.Ports[0].Name || c.Readiness.HTTPGet.Port != c.Ports[0].Name {
		t.Fatalf("ports %v, asked are %q and %q", c.Ports, c.Liveness.HTTPGet.Port, c.Readiness.HTTPGet.Port)
	}
	if got, want := env["SQSBATCH_HEALTH_ADDR"], ":"+c.Ports[0].ContainerPort; got != want {
		t.Errorf("health is served at %q, want %q", got, want)
	}
}

func TestScaledObjectAgreesWithTheDeployment(t *testing.T) {
	d, env := pod(t)
	s := read[scaledObject](t, "kubernetes/scaledobject.yaml").Spec
	if d.Spec.Replicas != nil {
		t.Error("the Deployment has replicas: applying it sets back what KEDA has set")
	}
	if len(s.Triggers) != 1 || s.Triggers[0].Type != "aws-sqs-queue" {
		t.Fatalf("triggers %v", s.Triggers)
	}
	meta := s.Triggers[0].Metadata
	queue := env[meta["queueURLFromEnv"]]
	if meta["queueURLFromEnv"] != "SQSBATCH_QUEUE_URL" || queue == "" {
		t.Errorf("the queue's URL is read from %q", meta["queueURLFromEnv"])
	}
	if !strings.Contains(queue, "//sqs."+meta["awsRegion"]+".") {
		t.Errorf("KEDA asks in %s for %s", meta["awsRegion"], queue)
	}
	if s.MinReplicaCount == 0 && meta["scaleOnInFlight"] == "false" {
		t.Error("the last pod would be taken away while it works")
	}
	if s.MinReplicaCount > 0 && s.CooldownPeriod > 0 {
		t.Errorf("cooldownPeriod has no effect with minReplicaCount %d: only the last pod waits for it", s.MinReplicaCount)
	}
}

// role.yaml lets one service account take the role: the one that the pods have.
func TestRoleIsForThePodsServiceAccount(t *testing.T) {
	d, _ := pod(t)
	account := read[struct {
		Metadata struct {
			Name string `yaml:"name"`
		} `yaml:"metadata"`
	}](t, "kubernetes/serviceaccount.yaml").Metadata.Name
	allowed := at(t, load(t, "kubernetes/role.yaml"), "Parameters", "ServiceAccount", "Default")
	if used := d.Spec.Template.Spec.ServiceAccountName; used != account || allowed != account {
		t.Errorf("the pods use %s, there is %s, the role is for %s", used, account, allowed)
	}
}
