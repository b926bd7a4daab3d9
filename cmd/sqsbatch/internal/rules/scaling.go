package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A Scaling changes the number of tasks or pods with containers that poll: a ScalableTarget of
// Application Auto Scaling or a service of ECS, a HorizontalPodAutoscaler or a ScaledObject of KEDA.
type Scaling struct {
	template.Resource
	target   template.Resource   // what it scales, if it is not a service itself
	policies []template.Resource // of a ScalableTarget
	others   bool                // of a ScalableTarget: there may be policies that are not listed
}

// scalingsOf lists what scales one of the containers.
func scalingsOf(st *template.Stack, containers []Container) (list []Scaling) {
	created := creation(st)
	services := servicesOf(st, containers)
	pods := map[string][]template.Resource{} // by kind and name
	for _, c := range containers {
		_, name := named(c.Resource)
		pods[c.Resource.Type+" "+name] = append(pods[c.Resource.Type+" "+name], c.Resource)
	}
	target := map[string]int{} // indexes of list by logical id, and by the service's
	for _, r := range st.All() {
		switch r.Type {
		case "HorizontalPodAutoscaler", "ScaledObject":
			space, _ := named(r)
			for _, pod := range pods[scaled(r)] {
				if own, _ := named(pod); sameSpace(own, space) {
					list = append(list, Scaling{Resource: r, target: pod})
					break
				}
			}
		case "AWS::ECS::Service":
			if services[r.ID] == r.ID && created(r) {
				list = append(list, Scaling{Resource: r})
			}
		case "AWS::ApplicationAutoScaling::ScalableTarget":
			if id := services[serviceName(r.Get("ResourceId"))]; id != "" && created(r) {
				target[r.ID], target[id] = len(list), len(list)
				service, _ := st.Resource(id)
				list = append(list, Scaling{Resource: r, target: service, others: st.Unsure("AWS::ApplicationAutoScaling::ScalingPolicy") || !r.Get("ScheduledActions").Absent()})
			}
		}
	}
	policies, _ := st.Resources("AWS::ApplicationAutoScaling::ScalingPolicy")
	for _, p := range policies {
		id, _ := nameOf(p.Get("ScalingTargetId"))
		i, ok := target[id]
		if !ok {
			i, ok = target[services[serviceName(p.Get("ResourceId"))]]
		}
		if ok {
			list[i].policies = append(list[i].policies, p)
		}
	}
	return list
}

// servicesOf returns the services of ECS that run one of the containers, by their logical ids and
// their names.
func servicesOf(st *template.Stack, containers []Container) map[string]string {
	tasks := map[string]bool{}
	for _, c := range containers {
		tasks[c.Resource.ID] = c.ecs()
	}
	ids := map[string]string{}
	list, _ := st.Resources("AWS::ECS::Service")
	for _, s := range list {
		if definition, _ := nameOf(s.Get("TaskDefinition")); tasks[definition] {
			ids[s.ID] = s.ID
			if name, err := s.Get("ServiceName").Str(); err == nil && name != "" {
				ids[name] = s.ID
			}
		}
	}
	return ids
}

// serviceName returns the name or the logical id of the service that a ResourceId,
// service/CLUSTER/NAME, names.
func serviceName(v template.Value) string {
	text, err := v.Str()
	if id, attribute, _ := strings.Cut(template.Attribute(err), "."); attribute == "Name" {
		return id
	}
	return text[strings.LastIndex(text, "/")+1:]
}

// scaled returns the kind and the name of what an object of Kubernetes scales.
func scaled(r template.Resource) string {
	kind, _ := r.Get("spec", "scaleTargetRef", "kind").Str()
	name, _ := r.Get("spec", "scaleTargetRef", "name").Str()
	if kind == "" {
		kind = "Deployment"
	}
	return kind + " " + name
}

// inFlight reads whether a trigger of KEDA counts messages in flight, and the least number of pods.
func (s Scaling) inFlight(trigger template.Value) (v template.Value, counts bool, least int, known bool) {
	v = trigger.Get("metadata", "scaleOnInFlight")
	counts, err := v.Bool(true)
	least, bad := s.Get("spec", "minReplicaCount").Int(0)
	return v, counts, least, err == nil && bad == nil
}

// Scalings are the rules of what scales containers.
var Scalings = []Rule[Scaling]{
	{
		Info: Info{ID: "SB413", Severity: Note, Page: "Scaling based on Amazon SQS",
			Title: "Only CPU or memory scales what polls",
			Why:   "A consumer whose handlers wait for something else uses little CPU, however long the queue is. Scale on the messages that wait for each task or pod."},
		check: func(s Scaling, r *reporter) {
			if all, at := s.utilization(); all {
				r.report(at, "%s scales by CPU or memory only, and not by the messages that wait", s.ID)
			}
		},
	},
	{
		Info: Info{ID: "SB414", Severity: Note,
			Title: "KEDA counts messages in flight",
			Why:   "Records that failed wait for their next attempt in flight. While a dependency is down, thousands of them may wait, and more pods only add load. KEDA counts them unless scaleOnInFlight is \"false\". With minReplicaCount 0 it must count them, or the last pod is removed while it works."},
		check: func(s Scaling, r *reporter) {
			for _, trigger := range s.queueTriggers() {
				v, counts, least, known := s.inFlight(trigger)
				if known && counts && least > 0 {
					at := v.Pos
					if v.Absent() {
						at = trigger.Pos
					}
					r.report(at, "%s counts messages in flight, also those that failed and wait for their next attempt; set scaleOnInFlight to \"false\"", s.ID)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB415", Severity: Warning,
			Title: "KEDA removes the last pod while it works",
			Why:   "With minReplicaCount 0, which is the default, KEDA removes the last pod if no message waits for cooldownPeriod. If messages in flight do not count, the pod may still handle some: those that take longer than the drain are cancelled and come back."},
		check: func(s Scaling, r *reporter) {
			for _, trigger := range s.queueTriggers() {
				v, counts, least, known := s.inFlight(trigger)
				if known && !counts && least == 0 {
					r.report(v.Pos, "%s has minReplicaCount 0 and does not count messages in flight, so that the last pod may be removed while it works; set one to the other value", s.ID)
				}
			}
		},
	},
	{
		Info: Info{ID: "SB416", Severity: Warning, Page: "Create a target tracking scaling policy for Application Auto Scaling using metric math",
			Title: "Nothing leaves 0 tasks",
			Why:   "Without a task there is no CPU to measure and no number of tasks to divide by, so that target tracking never adds the first one. A step scaling policy on the queue's own metric does."},
		check: func(s Scaling, r *reporter) {
			v := s.Get("MinCapacity")
			if n, ok := r.number(v); s.Type != "AWS::ApplicationAutoScaling::ScalableTarget" || s.others || !ok || n != 0 || len(s.policies) == 0 {
				return
			}
			if !slices.ContainsFunc(s.policies, func(p template.Resource) bool { return !perTask(p) }) {
				r.report(v.Pos, "%s has a MinCapacity of 0, and its policies need a task: nothing adds the first one. Set it to 1, or add a policy with PolicyType StepScaling", s.ID)
			}
		},
	},
	{
		Info: Info{ID: "SB417", Severity: Note, Page: "How the Amazon ECS deployment circuit breaker detects failures",
			Title: "The service has no deployment circuit breaker",
			Why:   "If the new tasks end at once, because of a wrong queue or a missing permission, ECS starts them again and again. With DeploymentCircuitBreaker it stops, and rolls back to the tasks that worked."},
		check: func(s Scaling, r *reporter) {
			controller, err := s.Get("DeploymentController", "Type").Str()
			breaker := s.Get("DeploymentConfiguration", "DeploymentCircuitBreaker")
			alarms := s.Get("DeploymentConfiguration", "Alarms")
			on, bad := breaker.Get("Enable").Bool(false)
			if s.Type == "AWS::ECS::Service" && err == nil && (controller == "" || controller == "ECS") && r.known(breaker, alarms) && bad == nil && !on && alarms.Absent() {
				r.report(s.Pos, "service %s has no DeploymentCircuitBreaker: set one that rolls back", s.ID)
			}
		},
	},
	{
		Info: Info{ID: "SB418", Severity: Note, Page: "Automatically scale your Amazon ECS service",
			Title: "Each deployment sets the number that something else scales",
			Why:   "While many messages wait, a deployment stops the tasks or pods that were added. Without DesiredCount, or without replicas, it leaves their number alone."},
		check: resets,
	},
}

// resets is the check of SB418.
func resets(s Scaling, r *reporter) {
	v := s.target.Get("DesiredCount")
	if v.Absent() {
		v = s.target.Get("spec", "replicas")
	}
	if r.known(v) && !v.Absent() {
		r.report(v.Pos, "%s has %s, which each deployment sets again, and %s changes the number; remove %s", s.target.ID, v.Name(), s.ID, v.Name())
	}
}

// queueTriggers are the triggers of a ScaledObject on queues of SQS.
func (s Scaling) queueTriggers() []template.Value {
	if s.Type != "ScaledObject" {
		return nil
	}
	list, _ := s.Get("spec", "triggers").List()
	return slices.DeleteFunc(list, func(trigger template.Value) bool {
		kind, err := trigger.Get("type").Str()
		return err != nil || kind != "aws-sqs-queue"
	})
}

// utilization reports whether all metrics that scale are surely CPU or memory.
func (s Scaling) utilization() (all bool, at template.Pos) {
	var metrics []template.Value
	isUse := func(v template.Value) bool {
		text, err := v.Str()
		return err == nil && (text == "Resource" || text == "ContainerResource" || text == "cpu" || text == "memory")
	}
	switch s.Type {
	case "HorizontalPodAutoscaler":
		if v := s.Get("spec", "targetCPUUtilizationPercentage"); !v.Absent() {
			return true, v.Pos
		}
		list, err := s.Get("spec", "metrics").List()
		at, all = s.Get("spec", "metrics").Pos, err == nil
		metrics = list
	case "ScaledObject":
		list, err := s.Get("spec", "triggers").List()
		at, all = s.Get("spec", "triggers").Pos, err == nil
		metrics = list
	case "AWS::ApplicationAutoScaling::ScalableTarget":
		for _, p := range s.policies {
			if !uses(p) {
				return false, at
			}
		}
		return len(s.policies) > 0 && !s.others, s.Pos
	}
	for _, m := range metrics {
		all = all && isUse(m.Get("type"))
	}
	return all && len(metrics) > 0, at
}

// uses reports whether a policy surely scales by CPU or memory.
func uses(p template.Resource) bool {
	metric, err := p.Get("TargetTrackingScalingPolicyConfiguration", "PredefinedMetricSpecification", "PredefinedMetricType").Str()
	return err == nil && (metric == "ECSServiceAverageCPUUtilization" || metric == "ECSServiceAverageMemoryUtilization")
}

// perTask reports whether a policy surely has no metric while there is no task: the use of CPU or
// memory, or something divided by the number of tasks.
func perTask(p template.Resource) bool {
	metrics, _ := p.Get("TargetTrackingScalingPolicyConfiguration", "CustomizedMetricSpecification", "Metrics").List()
	return uses(p) || slices.ContainsFunc(metrics, func(m template.Value) bool {
		expression, err := m.Get("Expression").Str()
		return err == nil && ratio.MatchString(expression)
	})
}

// ratio matches one metric divided by another.
var ratio = regexp.MustCompile(`^\s*\w+\s*/\s*[a-z]\w*\s*$`)
