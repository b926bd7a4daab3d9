package rules

import (
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// Paths of the health checks.
const (
	livePath   = "/livez"
	readyPath  = "/readyz"
	statusPath = "/statusz"
)

// A probe asks a container whether it is healthy.
type probe struct {
	name       string
	pos        template.Pos
	host, port string // "" if they are not given or not known
	path       string // "" if it asks for no page
	http       bool   // it asks for a page
	command    bool   // it is the command livez
	outside    bool   // the kubelet asks, not a command in the container
	live       bool   // the container is replaced if it fails
}

// probes lists the container's probes. Those that are not known have no page and no port.
func (c Container) probes() (list []probe) {
	if c.ecs() {
		check := c.get("HealthCheck")
		if words := c.command(check); !check.Absent() && !slices.Equal(words, []string{"NONE"}) {
			list = append(list, inContainer(words, probe{name: "health check", pos: check.Pos, live: true}))
		}
		return list
	}
	for _, name := range []string{"livenessProbe", "startupProbe", "readinessProbe"} {
		v := c.value.Get(name)
		if v.Absent() {
			continue
		}
		p := probe{name: name, pos: v.Pos, live: name == "livenessProbe"}
		if words, _ := texts(v.Get("exec", "command")); len(words) > 0 {
			list = append(list, inContainer(words, p))
			continue
		}
		for _, kind := range []string{"httpGet", "tcpSocket"} {
			at := v.Get(kind)
			if at.Absent() {
				continue
			}
			p.outside, p.http = true, kind == "httpGet"
			p.host, _ = at.Get("host").Str()
			p.path, _ = at.Get("path").Str()
			p.port, _ = at.Get("port").Str()
			p.port = c.portNumber(p.port)
		}
		list = append(list, p)
	}
	return list
}

// command is the command of a health check of ECS.
func (c Container) command(check template.Value) []string {
	words, _ := texts(either(check, "Command"))
	return words
}

// portNumber returns the number of a port by its name, and a number as it is.
func (c Container) portNumber(port string) string {
	list, _ := c.value.Get("ports").List()
	for _, p := range list {
		if name, _ := p.Get("name").Str(); name == port && port != "" {
			port, _ = p.Get("containerPort").Str()
			break
		}
	}
	return port
}

var localURL = regexp.MustCompile(`(?:^|[\s'"])(?:http://)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0):(\d+)(/[^\s'"?|;&]*)?`)

// inContainer is a probe that runs a command.
func inContainer(words []string, p probe) probe {
	for len(words) > 0 && (words[0] == "CMD" || words[0] == "CMD-SHELL") {
		words = words[1:]
	}
	words = strings.Fields(strings.Join(words, " "))
	if len(words) > 0 && words[0][strings.LastIndex(words[0], "/")+1:] == "livez" {
		p.command, p.http, p.path = true, true, livePath
		if len(words) > 1 {
			_, p.port, _ = net.SplitHostPort(words[1])
		}
		return p
	}
	if m := localURL.FindStringSubmatch(strings.Join(words, " ")); m != nil {
		p.http, p.port, p.path = true, m[2], m[3]
	}
	return p
}

// Probes are the rules of a container's health checks.
var Probes = []Rule[Container]{
	{
		Info: Info{ID: "SB407", Severity: Note, Page: probePage,
			Title: "No health check",
			Why:   "Nothing replaces a program whose loop hangs. On ECS a task that starts and then ends counts as a success of the deployment. Programs that end by themselves, such as jobs, need no check. ECS does not use the HEALTHCHECK of an image."},
		check: func(c Container, r *reporter) {
			if c.job() || !c.known(r, settings.UntilEmpty) || c.read(settings.UntilEmpty) == true || slices.ContainsFunc(c.probes(), func(p probe) bool { return p.live }) {
				return
			}
			if c.ecs() {
				r.report(c.value.Pos, "%s has no health check; set %s, and one that runs livez of the toolkit", c.title, settings.HealthAddr.Name)
				return
			}
			r.report(c.value.Pos, "%s has no livenessProbe; set %s, and ask there for %s", c.title, settings.HealthAddr.Name, livePath)
		},
	},
	{
		Info: Info{ID: "SB408", Severity: Warning, Page: probePage,
			Title: "The health check asks where nothing answers",
			Why:   "The container is replaced again and again, or never becomes ready. The toolkit serves /livez, /readyz and /statusz at SQSBATCH_HEALTH_ADDR. It is no mistake if code sets HealthAddr to what the check asks for, or Handlers has its path; then remove the variable, or suppress the finding."},
		check: func(c Container, r *reporter) {
			for _, p := range c.probes() {
				c.asksElsewhere(p, r)
			}
		},
	},
	{
		Info: Info{ID: "SB409", Severity: Error,
			Title: "The kubelet cannot reach the health check",
			Why:   "The kubelet asks from outside of the pod, at the pod's address. A program that listens at 127.0.0.1 does not answer there, and its container is restarted again and again."},
		check: func(c Container, r *reporter) {
			host, port, ok := c.served(r)
			if ip := net.ParseIP(host); !ok || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
				return
			}
			for _, p := range c.probes() {
				if p.outside && p.host == "" && p.port == port {
					r.report(c.values[settings.HealthAddr.Name].Pos, "%s serves its health at %s:%s, and its %s asks from outside of the pod; set %s to \":%s\"", c.title, host, port, p.name, settings.HealthAddr.Name, port)
					return
				}
			}
		},
	},
	{
		Info: Info{ID: "SB410", Severity: Warning, Page: probePage,
			Title: "The container is replaced if it is not ready",
			Why:   "/readyz fails while SQS cannot be reached, and while deletes fail. A new container could not reach SQS either, and the records of the old one are handled again. /livez fails only if the program must be replaced."},
		check: func(c Container, r *reporter) {
			for _, p := range c.probes() {
				if p.live && p.http && p.path == readyPath {
					r.report(p.pos, "the %s of %s asks for %s; ask for %s", p.name, c.title, readyPath, livePath)
				}
			}
		},
	},
}

// served returns where the toolkit serves its health by the variable, false if that is not known
// or nowhere.
func (c Container) served(r *reporter) (host, port string, ok bool) {
	if !c.known(r, settings.HealthAddr) {
		return "", "", false
	}
	host, port, err := net.SplitHostPort(c.texts[settings.HealthAddr.Name])
	return host, port, err == nil
}

// asksElsewhere is the check of SB408 for a probe.
func (c Container) asksElsewhere(p probe, r *reporter) {
	own := slices.Contains([]string{livePath, readyPath, statusPath}, p.path)
	if !p.http {
		return
	}
	_, port, ok := c.served(r)
	_, known := c.values[settings.HealthAddr.Name]
	switch {
	case p.command && p.port == "" && !known && c.more == "":
		r.report(p.pos, "the %s of %s runs livez, which asks at %s, and that is not set; set it, or give livez the address", p.name, c.title, settings.HealthAddr.Name)
	case !ok || p.port == "":
	case p.port != port && own:
		r.report(p.pos, "the %s of %s asks for %s at port %s, and %s is %q: give both the same port", p.name, c.title, p.path, p.port, settings.HealthAddr.Name, c.texts[settings.HealthAddr.Name])
	case p.port == port && !own:
		path := p.path
		if path == "" {
			path = "/"
		}
		r.report(p.pos, "the %s of %s asks for %s at port %s, where the toolkit has no such page; ask for %s", p.name, c.title, path, port, livePath)
	}
}
