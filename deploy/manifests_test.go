package deploy_test

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pod is the Deployment's spec, with what its pods and their only container have.
func pod(t *testing.T) (deployment, spec, container map[string]any, env map[string]string) {
	t.Helper()
	deployment = at(t, load(t, "kubernetes/deployment.yaml"), "spec").(map[string]any)
	spec = at(t, deployment, "template", "spec").(map[string]any)
	containers := at(t, spec, "containers").([]any)
	if len(containers) != 1 {
		t.Fatalf("%d containers", len(containers))
	}
	env = map[string]string{}
	for _, v := range at(t, containers[0], "env").([]any) {
		env[at(t, v, "name").(string)] = at(t, v, "value").(string)
	}
	return deployment, spec, containers[0].(map[string]any), env
}

func TestPodDrainsBeforeItIsKilled(t *testing.T) {
	_, spec, container, env := pod(t)
	grace, err := strconv.Atoi(at(t, spec, "terminationGracePeriodSeconds").(string))
	if err != nil {
		t.Fatal(err)
	}
	checkStop(t, "kubernetes", env["SQSBATCH_DRAIN_LIMIT"], time.Duration(grace)*time.Second)
	if container["lifecycle"] != nil {
		t.Error("a preStop hook takes its time from the drain")
	}
}

// The job's pod is the Deployment's, except that it ends.
func TestJobsPodIsTheDeployments(t *testing.T) {
	_, spec, container, env := pod(t)
	job := at(t, load(t, "kubernetes/cronjob.yaml"), "spec", "jobTemplate", "spec", "template", "spec").(map[string]any)
	own := at(t, job, "containers", "0").(map[string]any)
	for _, field := range []string{"serviceAccountName", "automountServiceAccountToken", "terminationGracePeriodSeconds", "securityContext"} {
		if !reflect.DeepEqual(job[field], spec[field]) {
			t.Errorf("%s is %v, the Deployment's is %v", field, job[field], spec[field])
		}
	}
	for _, field := range []string{"image", "resources", "securityContext"} {
		if !reflect.DeepEqual(own[field], container[field]) {
			t.Errorf("the container's %s is %v, the Deployment's is %v", field, own[field], container[field])
		}
	}
	for _, v := range own["env"].([]any) {
		name, value := at(t, v, "name").(string), at(t, v, "value").(string)
		if want, ok := env[name]; ok && value != want {
			t.Errorf("%s is %s, the Deployment's is %s", name, value, want)
		}
	}
}

func TestPodSetsWhatIsRead(t *testing.T) {
	_, spec, _, env := pod(t)
	checkVariables(t, "kubernetes", slices.Collect(maps.Keys(env)))
	if got := at(t, spec, "securityContext", "runAsUser"); got != user {
		t.Errorf("runs as user %s, the image as %s", got, user)
	}
}

// The kubelet asks from outside of the pod, at the port that the program serves.
func TestProbesAskWhereHealthIsServed(t *testing.T) {
	_, _, c, env := pod(t)
	name := at(t, c, "ports", "0", "name")
	for probe, path := range map[string]string{"livenessProbe": "/livez", "readinessProbe": "/readyz"} {
		if get := at(t, c, probe, "httpGet"); at(t, get, "path") != path || at(t, get, "port") != name {
			t.Errorf("%s asks for %v, want %s at port %s", probe, get, path, name)
		}
	}
	if got, want := env["SQSBATCH_HEALTH_ADDR"], ":"+at(t, c, "ports", "0", "containerPort").(string); got != want {
		t.Errorf("health is served at %q, want %q", got, want)
	}
}

func TestScaledObjectAgreesWithTheDeployment(t *testing.T) {
	deployment, _, _, env := pod(t)
	s := at(t, load(t, "kubernetes/scaledobject.yaml"), "spec").(map[string]any)
	if deployment["replicas"] != nil {
		t.Error("the Deployment has replicas: applying it sets back what KEDA has set")
	}
	if triggers := at(t, s, "triggers").([]any); len(triggers) != 1 || at(t, triggers[0], "type") != "aws-sqs-queue" {
		t.Fatalf("triggers %v", triggers)
	}
	meta := at(t, s, "triggers", "0", "metadata").(map[string]any)
	queue := env["SQSBATCH_QUEUE_URL"]
	if meta["queueURLFromEnv"] != "SQSBATCH_QUEUE_URL" || queue == "" {
		t.Errorf("the queue's URL is read from %q", meta["queueURLFromEnv"])
	}
	if !strings.Contains(queue, "//sqs."+at(t, meta, "awsRegion").(string)+".") {
		t.Errorf("KEDA asks in %s for %s", meta["awsRegion"], queue)
	}
	least := s["minReplicaCount"]
	if (least == nil || least == "0") && meta["scaleOnInFlight"] == "false" {
		t.Error("the last pod would be taken away while it works")
	}
	if least != nil && least != "0" && s["cooldownPeriod"] != nil {
		t.Errorf("cooldownPeriod has no effect with minReplicaCount %s: only the last pod waits for it", least)
	}
}

// role.yaml lets one service account take the role: the one that the pods have.
func TestRoleIsForThePodsServiceAccount(t *testing.T) {
	_, spec, _, _ := pod(t)
	account := at(t, load(t, "kubernetes/serviceaccount.yaml"), "metadata", "name")
	allowed := at(t, load(t, "kubernetes/role.yaml"), "Parameters", "ServiceAccount", "Default")
	if used := at(t, spec, "serviceAccountName"); used != account || allowed != account {
		t.Errorf("the pods use %s, there is %s, the role is for %s", used, account, allowed)
	}
}
