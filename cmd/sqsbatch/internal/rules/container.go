package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// A Container is a container of a task definition of Amazon ECS, or of a pod of Kubernetes, that
// polls queues.
type Container struct {
	Variables
	Resource template.Resource
	value    template.Value
	task     template.Value  // the task definition, absent in a pod
	pod      template.Value  // the pod's spec, absent in a task definition
	queues   []*Source       // of the template
	config   longpoll.Config // its settings, with their defaults
}

// podSpecs are where kinds of objects have the spec of their pods.
var podSpecs = map[string][]string{
	"Pod": {"spec"}, "Deployment": inTemplate, "StatefulSet": inTemplate, "DaemonSet": inTemplate, "ReplicaSet": inTemplate,
	"ReplicationController": inTemplate, "DeploymentConfig": inTemplate, "Rollout": inTemplate, "Job": inTemplate,
	"CronJob": append([]string{"spec", "jobTemplate"}, inTemplate...), "ScaledJob": {"spec", "jobTargetRef", "template", "spec"},
}

var inTemplate = []string{"spec", "template", "spec"}

// containersOf lists the containers that poll. A container does if it has a variable of the
// toolkit. If all are said to poll, those of a task definition or a pod without any such variable
// do, too. The errors say which containers are not known.
func containersOf(st *template.Stack) (list []Container, unknown []*template.Error) {
	maps := configMapsOf(st)
	created := creation(st)
	for _, r := range st.All() {
		path, ok := podSpecs[r.Type]
		if r.Type != template.TaskDefinition && !ok || !created(r) {
			continue
		}
		var all []Container
		if ok {
			all = podContainers(r, r.Get(path...), maps)
		} else {
			var err *template.Error
			if all, err = taskContainers(r); err != nil {
				unknown = append(unknown, err)
			}
		}
		polling := slices.DeleteFunc(slices.Clone(all), func(c Container) bool { return !c.toolkit() })
		if len(polling) == 0 && st.EveryContainer() {
			polling = slices.DeleteFunc(all, func(c Container) bool { return !c.essential() && len(all) > 1 })
		}
		for _, c := range polling {
			c.configure()
			list = append(list, c)
		}
	}
	return list, unknown
}

// HasConsumers reports whether a stack may have containers that poll.
func HasConsumers(st *template.Stack) bool {
	list, unknown := containersOf(st.Survey().Stack)
	return len(list) > 0 || len(unknown) > 0
}

func taskContainers(r template.Resource) (list []Container, unknown *template.Error) {
	task := r.Get()
	definitions := either(task, "ContainerDefinitions")
	items, err := definitions.List()
	if err != nil {
		return nil, &template.Error{Pos: definitions.Pos, Message: "the containers of " + r.ID + " are not checked: " + template.Reason(definitions.Pos, err)}
	}
	for _, item := range items {
		c := Container{Resource: r, value: item, task: task}
		c.name("Name")
		entries, err := either(item, "Environment").List()
		c.unsure(err)
		for _, e := range entries {
			c.add(either(e, "Name"), either(e, "Value"))
		}
		secrets, err := either(item, "Secrets").List()
		c.unsure(err)
		for _, e := range secrets {
			from := either(e, "ValueFrom")
			c.add(either(e, "Name"), template.Value{Pos: from.Pos, Err: errors.New("it is a secret")})
		}
		if files, err := either(item, "EnvironmentFiles").List(); err != nil || len(files) > 0 {
			c.more = "it may be in environmentFiles"
		}
		list = append(list, c)
	}
	return list, nil
}

// either returns the value at a path of names in the case of CloudFormation, or in that of the
// API of ECS.
func either(v template.Value, path ...string) template.Value {
	for _, name := range path {
		next := v.Get(name)
		if next.Absent() {
			if own := v.Get(strings.ToLower(name[:1]) + name[1:]); !own.Absent() {
				next = own
			}
		}
		v = next
	}
	return v
}

// name sets how messages call the container.
func (c *Container) name(field string) {
	c.on, c.pos = settings.Container, c.value.Pos
	c.title = "the container of " + c.Resource.ID
	if name, _ := either(c.value, field).Str(); name != "" {
		c.title = "container " + name + " of " + c.Resource.ID
	}
}

// unsure notes that there may be other variables.
func (c *Container) unsure(err error) {
	if err != nil {
		c.more = template.Reason(c.value.Pos, err)
	}
}

// add adds a variable.
func (c *Container) add(name, value template.Value) {
	text, err := name.Str()
	c.unsure(err)
	if err == nil {
		c.set(text, value)
	}
}

// configMaps are values for variables of pods, by the name of the object.
type configMaps map[string][]template.Resource

func configMapsOf(st *template.Stack) configMaps {
	maps := configMaps{}
	for _, r := range st.All() {
		if r.Type == "ConfigMap" {
			_, name := named(r)
			maps[name] = append(maps[name], r)
		}
	}
	return maps
}

// named returns the namespace and the name of an object of Kubernetes.
func named(r template.Resource) (namespace, name string) {
	namespace, _ = r.Get("metadata", "namespace").Str()
	name, _ = r.Get("metadata", "name").Str()
	return namespace, name
}

// sameSpace reports whether two namespaces may be the same. Tools add them late.
func sameSpace(a, b string) bool { return a == b || a == "" || b == "" }

// data returns what the only ConfigMap of a name has.
func (m configMaps) data(namespace, name string) (data template.Value, ok bool) {
	for _, r := range m[name] {
		if own, _ := named(r); sameSpace(own, namespace) {
			if ok {
				return data, false
			}
			data, ok = r.Get("data"), true
		}
	}
	return data, ok
}

func podContainers(r template.Resource, pod template.Value, maps configMaps) (list []Container) {
	namespace, _ := named(r)
	items, _ := pod.Get("containers").List()
	for _, item := range items {
		c := Container{Resource: r, value: item, pod: pod}
		c.name("name")
		from, err := item.Get("envFrom").List()
		c.unsure(err)
		for _, f := range from {
			name, _ := f.Get("configMapRef", "name").Str()
			prefix, _ := f.Get("prefix").Str()
			data, ok := maps.data(namespace, name)
			if !ok {
				c.more = "it may be in what envFrom names, which is not in the input"
				continue
			}
			for key, value := range data.Entries() {
				c.set(prefix+key, value)
			}
		}
		env, err := item.Get("env").List()
		c.unsure(err)
		for _, e := range env {
			value := e.Get("value")
			if from := e.Get("valueFrom"); !from.Absent() {
				value = fromMap(from, maps, namespace)
			}
			c.add(e.Get("name"), value)
		}
		list = append(list, c)
	}
	return list
}

// fromMap is the value of a variable that is read from elsewhere.
func fromMap(from template.Value, maps configMaps, namespace string) template.Value {
	name, _ := from.Get("configMapKeyRef", "name").Str()
	key, _ := from.Get("configMapKeyRef", "key").Str()
	if data, ok := maps.data(namespace, name); ok && !data.Get(key).Absent() {
		return data.Get(key)
	}
	return template.Value{Pos: from.Pos, Err: errors.New("what valueFrom names is a secret, or not in the input")}
}

// configure reads the settings.
func (c *Container) configure() {
	c.config = longpoll.Config{
		Queue: c.texts[settings.QueueURL.Name], Prefetch: c.number(settings.Prefetch),
		Engine: runner.Config{Concurrency: c.number(settings.Concurrency)},
	}
	c.config.Engine.Grace, _ = c.read(settings.Grace).(time.Duration)
	c.config.DrainLimit, _ = c.read(settings.DrainLimit).(time.Duration)
	if c.read(settings.Prefetch) == 0 {
		c.config.Prefetch = -1
	}
	c.config = c.config.WithDefaults(batch.HandlerFunc(nil))
}

// ecs reports whether it is a container of a task definition.
func (c Container) ecs() bool { return !c.task.Absent() }

// get returns what the container has at a path.
func (c Container) get(path ...string) template.Value {
	if c.ecs() {
		return either(c.value, path...)
	}
	return c.value.Get(path...)
}

// essential reports whether the end of the container ends its task, which is replaced. Pods
// restart each of their containers.
func (c Container) essential() bool {
	essential, err := c.get("Essential").Bool(true)
	restarts, _ := c.get("RestartPolicy", "Enabled").Bool(false)
	return !c.ecs() || err != nil || essential || restarts
}

// job reports whether the program is to end when there is nothing left to do.
func (c Container) job() bool {
	return slices.Contains([]string{"Job", "CronJob", "ScaledJob"}, c.Resource.Type)
}

// fargate reports whether the task definition is for Fargate.
func (c Container) fargate() bool {
	list, _ := texts(either(c.task, "RequiresCompatibilities"))
	return slices.Contains(list, "FARGATE")
}

// The time after which a container is killed that does not stop, if nothing says otherwise, and
// the longest on Fargate ("Task definition parameters for Amazon ECS", "Pod Lifecycle").
const (
	defaultKill = 30
	fargateKill = 120
)

// kill is the setting of the time after which a container is killed that does not stop.
func (c Container) kill() (in template.Value, name string) {
	if !c.ecs() {
		return c.pod, "terminationGracePeriodSeconds"
	}
	if !c.value.Get("name").Absent() {
		return c.value, "stopTimeout"
	}
	return c.value, "StopTimeout"
}

// Page names of documentation.
const (
	taskPage  = "Amazon ECS task definition parameters"
	probePage = "Determine Amazon ECS task health using container health checks"
)

// Containers are the rules of a container that polls.
var Containers = []Rule[Container]{
	{
		Info: Info{ID: "SB404", Severity: Warning, Page: taskPage,
			Title: "The container is killed before its drain is over",
			Why:   "Amazon ECS and Kubernetes kill a container 30 seconds after the signal to stop, unless stopTimeout or terminationGracePeriodSeconds says otherwise. In Kubernetes a preStop hook takes its time from that. Records that still run are handled again after SQSBATCH_VISIBILITY. So are some that have succeeded, if the kill comes before their deletes. If code sets the drain limit or the grace, compare those."},
		check: killedEarly,
	},
	{
		Info: Info{ID: "SB405", Severity: Error, Page: taskPage,
			Title: "stopTimeout is above Fargate's limit",
			Why:   "Fargate takes up to 120 seconds. A stop cancels records that run for longer, and they come back. On container instances a task may take longer to stop."},
		check: func(c Container, r *reporter) {
			in, name := c.kill()
			if n, ok := r.number(in.Get(name)); ok && c.ecs() && c.fargate() && n > fargateKill {
				r.report(in.Get(name).Pos, "%s has a %s of %d seconds; Fargate takes up to %d", c.title, name, n, fargateKill)
			}
		},
	},
	{
		Info: Info{ID: "SB406", Severity: Warning, Page: taskPage,
			Title: "The container is not essential",
			Why:   "If the program ends, its task goes on without it: ECS replaces a task only if an essential container ends, and nothing polls meanwhile. A restartPolicy of the container is enough, too."},
		check: func(c Container, r *reporter) {
			if !c.essential() {
				v := c.get("Essential")
				r.report(v.Pos, "%s is not essential: if it ends, the task goes on and nothing polls. Remove %s", c.title, v.Name())
			}
		},
	},
	{
		Info: Info{ID: "SB411", Severity: Note, Page: "Amazon SQS message quotas",
			Title: "The memory does not hold all messages that may be there",
			Why:   "A container holds the records that run and those that wait (SQSBATCH_CONCURRENCY, SQSBATCH_PREFETCH), each with a body of up to 1 MiB or the MaximumMessageSize of a queue in the template. It does not matter if bodies are always smaller."},
		check: tooLittleMemory,
	},
	{
		Info: Info{ID: "SB412", Severity: Warning,
			Title: "The program ends although it should go on, or the reverse",
			Why:   "A job is complete when its program ends: if it does not, a CronJob with concurrencyPolicy Forbid never starts the next job. A Deployment restarts a program that has ended, after longer pauses each time. If code sets UntilEmpty, suppress the finding."},
		check: endless,
	},
}

// endless is the check of SB412.
func endless(c Container, r *reporter) {
	ends := c.read(settings.UntilEmpty) == true
	switch {
	case c.ecs() || c.Resource.Type == "Pod" || !c.toolkit() || !c.known(r, settings.UntilEmpty):
	case c.job() && !ends:
		r.report(c.pos, "%s never ends, and a %s is to end; set %s to \"true\"", c.title, c.Resource.Type, settings.UntilEmpty.Name)
	case !c.job() && ends:
		r.report(c.values[settings.UntilEmpty.Name].Pos, "%s ends when its queues are empty, and a %s starts it again; remove %s, or use a CronJob", c.title, c.Resource.Type, settings.UntilEmpty.Name)
	}
}

// killedEarly is the check of SB404.
func killedEarly(c Container, r *reporter) {
	in, name := c.kill()
	v := in.Get(name)
	if !c.known(r, settings.DrainLimit, settings.Grace) {
		return
	}
	seconds, err := v.Int(defaultKill)
	if err != nil {
		r.unsure(v.Pos, "%s is not known: %s", name, template.Reason(v.Pos, err))
		return
	}
	hook, known := c.beforeStop()
	takes, kill := c.config.StopTakes(), time.Duration(seconds)*time.Second
	if kill-hook >= takes {
		if !known {
			r.unsure(c.get("lifecycle").Pos, "how long the preStop hook of %s takes is not known; it takes that from %s", c.title, name)
		}
		return
	}
	at := v.Pos
	if v.Absent() {
		at = c.value.Pos
		if limit, set := c.values[settings.DrainLimit.Name]; set {
			at = limit.Pos
		}
	}
	says := fmt.Sprintf("%s is %d", name, seconds)
	if v.Absent() {
		says = fmt.Sprintf("%s is not set, which means %d", name, seconds)
	}
	if hook > 0 {
		says += fmt.Sprintf(", of which the preStop hook takes %v", hook.Seconds())
	}
	enough := int((takes + hook + 2*time.Second - 1) / time.Second) // and a second for the process to end
	remedy := fmt.Sprintf("Set %s to %d, or a shorter %s", name, enough, settings.DrainLimit.Name)
	if most := fargateKill*time.Second - (takes - c.config.DrainLimit) - time.Second; c.fargate() && enough > fargateKill {
		remedy = fmt.Sprintf("Fargate takes up to %d: set %s to that, and %s to %s", fargateKill, name, settings.DrainLimit.Name, words(most))
	}
	f := r.report(at, "%s is killed before its drain is over: %s seconds, and a stop takes up to %s (%s %s, %s %s, then settling). %s",
		c.title, says, words(takes), settings.DrainLimit.Name, words(c.config.DrainLimit), settings.Grace.Name, words(c.config.Engine.Grace), remedy)
	if c.ecs() && v.Absent() && !c.fargate() {
		f.Severity = Note
		f.Message += ". It is enough if ECS_CONTAINER_STOP_TIMEOUT of the container instances is that long"
	}
	if !c.ecs() || !c.fargate() || enough <= fargateKill {
		f.Fix = setting(in, name, enough)
	}
}

// beforeStop returns how long the preStop hook of a pod takes, false if that is not known.
func (c Container) beforeStop() (time.Duration, bool) {
	hook := c.value.Get("lifecycle", "preStop")
	if c.ecs() || hook.Absent() {
		return 0, true
	}
	if n, err := hook.Get("sleep", "seconds").Int(0); err == nil && n > 0 {
		return time.Duration(n) * time.Second, true
	}
	command, _ := texts(hook.Get("exec", "command"))
	words := strings.Fields(strings.Join(command, " "))
	if n := len(words); n > 1 && words[n-2][strings.LastIndex(words[n-2], "/")+1:] == "sleep" {
		text := words[n-1]
		if !strings.ContainsAny(text, "smhd") {
			text += "s"
		}
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return d, true
		}
	}
	return 0, false
}

// programSize is what a program takes without messages: deploy/kubernetes/deployment.yaml requests
// it.
const programSize = 64 << 20

const mib = 1 << 20

// tooLittleMemory is the check of SB411.
func tooLittleMemory(c Container, r *reporter) {
	limit, at, ok := c.memory(r)
	if !ok || !c.known(r, settings.Concurrency, settings.Prefetch, settings.QueueURL) {
		return
	}
	list, _ := c.read(settings.QueueURL).([]string)
	running, waiting := c.config.Engine.Concurrency, 0
	if c.number(settings.Concurrency) == 0 { // for each queue
		running *= max(1, len(list))
	}
	for _, queue := range list {
		one := c.config
		if one.Queue = queue; c.read(settings.Prefetch) == nil {
			one.Prefetch = 0
			one = one.WithDefaults(batch.HandlerFunc(nil))
		}
		waiting += max(0, one.Prefetch)
	}
	size := mib
	for _, q := range c.queues {
		if n, err := q.Resource.Get("MaximumMessageSize").Int(mib); err != nil || len(c.queues) == len(list) {
			size = min(n, mib)
		}
	}
	held := (running + waiting) * size
	if need := held + programSize; need > limit {
		r.report(at, "%s may hold %d records that run and %d that wait, each of up to %d KiB: %d MiB, and about %d MiB for the program. Its memory is %d MiB. If bodies are that large, lower %s or %s, or raise the memory",
			c.title, running, waiting, size>>10, held/mib, programSize/mib, limit/mib, settings.Prefetch.Name, settings.Concurrency.Name)
	}
}

// memory returns the most memory that the container may take, in bytes, and where it is set.
func (c Container) memory(r *reporter) (int, template.Pos, bool) {
	v := c.get("resources", "limits", "memory")
	if c.ecs() {
		v = c.get("Memory")
		if v.Absent() {
			v = either(c.task, "Memory")
		}
	}
	text, err := v.Str()
	size, valid := quantity(text, c.ecs())
	if err == nil && !valid && !v.Absent() {
		err = fmt.Errorf("%q is no amount of memory", text)
	}
	if err != nil {
		r.unsure(v.Pos, "the memory of %s is not known: %s", c.title, template.Reason(v.Pos, err))
	}
	return size, v.Pos, err == nil && valid
}

// arnOf returns the ARN of a queue that a variable names by its URL or its ARN, "" if it names
// none.
func arnOf(queue string) string {
	if _, err := endpoint.ParseARN(queue); err == nil {
		return queue
	}
	region, _ := endpoint.Of(queue)
	part := strings.Split(strings.TrimSuffix(queue, "/"), "/")
	if region == "" || len(part) != 5 {
		return ""
	}
	return strings.Join([]string{"arn", endpoint.PartitionOf(region), "sqs", region, part[3], part[4]}, ":")
}

var amount = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$`)

// units are the suffixes of amounts of memory in Kubernetes ("Resource units in Kubernetes").
var units = map[string]float64{
	"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// quantity reads an amount of memory as ECS or Kubernetes writes it, in bytes.
func quantity(text string, ecs bool) (int, bool) {
	part := amount.FindStringSubmatch(text)
	if part == nil {
		return 0, false
	}
	unit, ok := units[part[2]]
	if ecs { // a number is MiB
		unit, ok = map[string]float64{"": 1 << 20, "MB": 1 << 20, "GB": 1 << 30}[strings.ToUpper(part[2])]
	}
	n, err := strconv.ParseFloat(part[1], 64)
	n *= unit
	return int(n), ok && err == nil && n < 1<<50
}

// checkContainers checks the containers that poll, their roles and what scales them.
func (c *collector) checkContainers(st *template.Stack, sources map[string]*Source) {
	containers, unknown := containersOf(st)
	for _, e := range unknown {
		c.unsure(Unknown{Pos: e.Pos, Message: e.Message})
	}
	if len(containers) == 0 {
		return
	}
	policies := attachmentsOf(st)
	for i := range containers {
		own := &containers[i]
		c.checkPolled(st, own, sources, policies)
		apply(c, Environments, Subject{}, own.Variables)
		apply(c, Containers, Subject{}, *own)
		apply(c, Probes, Subject{}, *own)
	}
	for _, s := range scalingsOf(st, containers) {
		apply(c, Scalings, Subject{}, s)
	}
}

// checkPolled finds the queues of a container, and checks what depends on both.
func (c *collector) checkPolled(st *template.Stack, own *Container, sources map[string]*Source, policies attachments) {
	named, _ := own.read(settings.QueueURL).([]string)
	for _, name := range named {
		queue := template.Queue{ARN: arnOf(name), Name: batch.QueueName(name)}
		for _, s := range sources {
			if s.URL == name || s.ARN == name || s.Name == queue.Name && !s.Resource.Get("QueueName").Absent() {
				s.containers = append(s.containers, *own)
				own.queues = append(own.queues, s)
				queue = s.Queue
			}
		}
		if len(named) == 1 {
			apply(c, consumers, Subject{}, consumer{own.Variables, queue})
		}
		if own.ecs() && queue.ARN != "" {
			c.checkTaskRole(st, *own, queue, policies)
		}
	}
}

// checkTaskRole checks the permissions of a task on a queue.
func (c *collector) checkTaskRole(st *template.Stack, own Container, q template.Queue, policies attachments) {
	v := either(own.task, "TaskRoleArn")
	role := newRole(st, q, v.Pos, policies)
	role.Needs, role.foreign, role.container = OfContainer, !own.toolkit(), true
	if _, count := own.values[settings.MaxReceiveCount.Name]; count && !own.values[settings.DeadLetterQueue.Name].Absent() {
		role.Needs = slices.DeleteFunc(slices.Clone(OfContainer), func(p Permission) bool { return p == attributes })
	}
	if dead := own.texts[settings.DeadLetterQueue.Name]; q.DeadLetterARN == "" && arnOf(dead) != "" {
		role.ARNs[OnDeadLetters] = arnOf(dead)
	}
	role, err := role.of(st, v, policies)
	if err != nil {
		c.unsure(Unknown{Pos: v.Pos, Rules: idsOf(Roles), Message: "the permissions of " + own.title + " are not checked: " + template.Reason(v.Pos, err)})
		return
	}
	apply(c, Roles, Subject{}, role)
}
