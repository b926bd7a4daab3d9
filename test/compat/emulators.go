package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/tools"
	"github.com/sqsbatch/sqsbatch/test/random"
)

var emulatorOptions struct {
	seed      uint64
	sequences int
	update    bool
}

func emulatorFlags(f *flag.FlagSet) {
	f.Uint64Var(&emulatorOptions.seed, "seed", 1, "the seed of the first sequence of calls")
	f.IntVar(&emulatorOptions.sequences, "sequences", 40, "how many sequences of calls each server gets")
	f.BoolVar(&emulatorOptions.update, "update", false, "write the differences that were found to the page")
}

// otherEmulators are compared with emulator/sqs. Each start returns the server's URL and its end.
var otherEmulators = []struct {
	name  string
	start func(context.Context, *tools.Stage) (url string, stop func(), err error)
}{
	{"ElasticMQ", func(ctx context.Context, _ *tools.Stage) (string, func(), error) {
		server, err := harness.StartElasticMQ(ctx)
		if err != nil {
			return "", nil, err
		}
		return server.URL, func() { _ = server.Stop() }, nil
	}},
	{"moto", func(ctx context.Context, s *tools.Stage) (string, func(), error) {
		sam, err := tools.InstallSAM(ctx)
		if err != nil {
			return "", nil, err
		}
		moto, err := tools.StartMoto(ctx, s, sam, programs+"/moto_s3.py")
		if err != nil {
			return "", nil, err
		}
		return moto.URL, moto.Stop, nil
	}},
	{"LocalStack", startLocalStack},
}

// startLocalStack starts LocalStack from PyPI, without a container: emulator/sqs/conformance says why
// with these packages and variables.
func startLocalStack(ctx context.Context, s *tools.Stage) (url string, stop func(), err error) {
	defer must.Return(&err)
	python := must.Get(tools.InstallPython(ctx, "localstack-4.7", "localstack-core[runtime]==4.7.*", "cbor2<5.8", "pyopenssl==24.3.0", "cryptography==44.0.3", "service_identity==24.2.0"))
	address := must.Get(harness.FreeAddress())
	cmd := python.Command(context.WithoutCancel(ctx), "-m", "localstack.runtime.main")
	cmd.Env = tools.Environment("SERVICES=sqs", "EAGER_SERVICE_LOADING=1", "DISABLE_EVENTS=1", "SKIP_SSL_CERT_DOWNLOAD=1", "DNS_ADDRESS=0", "GATEWAY_SERVER=hypercorn",
		"GATEWAY_LISTEN="+address, "LOCALSTACK_HOST="+address, "SQS_ENDPOINT_STRATEGY=path", "SQS_DELAY_PURGE_RETRY=1", "SQS_DELAY_RECENTLY_DELETED=1")
	process := must.Get(subprocess.Start(cmd, func(_, text string) { fmt.Fprintln(s.Log, text) }))
	err = harness.Ready(ctx, process, func() error {
		res, err := http.Get("http://" + address + "/_localstack/health")
		if err != nil {
			return err
		}
		return res.Body.Close()
	})
	if err != nil {
		process.Kill()
	}
	return "http://" + address, process.Kill, err
}

// checkEmulators compares other emulators with what AWS documents or was recorded with, by the
// conformance checks, and with emulator/sqs, by random sequences of calls. A difference that is
// not in differencesFile is an error, and so is a check in it that passes.
func checkEmulators(ctx context.Context, s *tools.Stage) error {
	all, err := readDifferences(s.Root)
	if err != nil {
		return err
	}
	program := filepath.Join(s.Tmp, "conformance")
	if _, err := s.Go(ctx, s.Root, "build", "-o", program, "./emulator/sqs/conformance"); err != nil {
		return err
	}
	for _, other := range otherEmulators {
		s.Step(other.name, func() error {
			url, stop, err := other.start(ctx, s)
			if err != nil {
				return fmt.Errorf("%w: %w", tools.ErrNotRun, err)
			}
			defer stop()
			return errors.Join(
				must.Run(func() { all.check(ctx, program, other.name, url) }),
				must.Run(func() { all.compare(ctx, other.name, http.DefaultClient, url) }))
		})
	}
	if emulatorOptions.update {
		return all.write(s.Root)
	}
	return nil
}

// differences are all that are known, as differencesFile has them.
type differences struct {
	Checks []*failedCheck
	Calls  []differentCall
}

// failedCheck is a conformance check that servers fail.
type failedCheck struct {
	ID, Must string
	Fail     []string // names of servers
}

// differentCall is a call that a server answers otherwise than emulator/sqs. AWS says who is right.
type differentCall struct{ Call, Server, Differs, AWS string }

const (
	differencesFile = "test/compat/differences.json"
	differencesPage = "docs/emulator-differences.md"
	unclassified    = "?"
)

func readDifferences(root string) (*differences, error) {
	d := &differences{}
	text, err := os.ReadFile(filepath.Join(root, differencesFile))
	if err == nil {
		err = json.Unmarshal(text, d)
	}
	return d, err
}

// write writes the file and the page.
func (d *differences) write(root string) error {
	d.Checks = slices.DeleteFunc(d.Checks, func(c *failedCheck) bool { return len(c.Fail) == 0 })
	slices.SortFunc(d.Checks, func(a, b *failedCheck) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Calls, func(a, b differentCall) int {
		return cmp.Or(strings.Compare(a.Call, b.Call), strings.Compare(a.Differs, b.Differs), strings.Compare(a.Server, b.Server))
	})
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	page := filepath.Join(root, differencesPage)
	old, err := os.ReadFile(page)
	return errors.Join(err, os.WriteFile(filepath.Join(root, differencesFile), append(text, '\n'), 0o644), os.WriteFile(page, []byte(d.show(string(old))), 0o644))
}

// find returns the check with an id, which it adds if it is new.
func (d *differences) find(id string) *failedCheck {
	at := slices.IndexFunc(d.Checks, func(c *failedCheck) bool { return c.ID == id })
	if at < 0 {
		at, d.Checks = len(d.Checks), append(d.Checks, &failedCheck{ID: id})
	}
	return d.Checks[at]
}

var failedLine = regexp.MustCompile(`(?m)^FAIL  (\S+) .*\n      must: (.*)$`)

// check runs the conformance checks. One whose result is news has to have it twice more, alone:
// some checks depend on the time that a slow server takes.
func (d *differences) check(ctx context.Context, program, name, url string) {
	failing := func(args ...string) map[string]string {
		out, err := exec.CommandContext(ctx, program, append([]string{"-endpoint", url}, args...)...).Output()
		if err != nil && !bytes.Contains(out, []byte("theme  passed")) {
			must.Failf("the conformance checks: %v\n%s", err, out)
		}
		all := map[string]string{}
		for _, m := range failedLine.FindAllStringSubmatch(string(out), -1) {
			all[m[1]] = m[2]
		}
		return all
	}
	failed := failing("-parallel", "16")
	news := map[string]bool{}
	for id := range failed {
		news[id] = !slices.Contains(d.find(id).Fail, name)
	}
	for _, c := range d.Checks {
		if _, fails := failed[c.ID]; !fails && slices.Contains(c.Fail, name) {
			news[c.ID] = true
		}
	}
	var wrong []error
	maps.DeleteFunc(news, func(_ string, is bool) bool { return !is })
	if len(news) > 0 {
		only := "^(" + strings.Join(slices.Sorted(maps.Keys(news)), "|") + ")$"
		for range 2 {
			again := failing("-parallel", "4", "-run", only)
			maps.DeleteFunc(news, func(id string, _ bool) bool { return (again[id] == "") != (failed[id] == "") })
		}
	}
	for id := range news {
		c := d.find(id)
		if text := failed[id]; text != "" {
			c.Must, c.Fail = text, append(c.Fail, name)
			wrong = append(wrong, fmt.Errorf("the conformance check %s fails: %s", id, text))
		} else {
			c.Fail = slices.DeleteFunc(c.Fail, func(other string) bool { return other == name })
			wrong = append(wrong, fmt.Errorf("the conformance check %s passes", id))
		}
	}
	fmt.Printf("%s fails %d conformance checks\n", name, len(failed))
	if !emulatorOptions.update {
		must.Do(errors.Join(wrong...))
	}
}

// compare makes sequences of calls to a server and to emulator/sqs.
func (d *differences) compare(ctx context.Context, name string, client *http.Client, url string) {
	const calls, atOnce = 25, 8
	ours := sqs.New(sqs.Config{})
	defer func() { _ = ours.Close() }()
	known := map[string]bool{}
	for _, c := range d.Calls {
		known[c.Call] = known[c.Call] || c.Server == name
	}
	prefix := fmt.Sprintf("compat-%d", time.Now().UnixMilli())
	var mu sync.Mutex
	var errs []error
	differ := 0
	sequence := func(seed uint64) {
		q := &sequence{Rand: random.New(seed, 0), ctx: ctx, name: fmt.Sprint(prefix, "-", seed), known: known,
			sides: [2]*side{{client: ours.HTTPClient(), url: ours.URL()}, {client: client, url: url}}}
		made, how := q.run(calls)
		if made == nil {
			return
		}
		found := differentCall{Server: name, AWS: unclassified}
		found.Call, found.Differs = cause(made, how)
		mu.Lock()
		defer mu.Unlock()
		differ++
		if slices.ContainsFunc(d.Calls, func(c differentCall) bool { return c.Call == found.Call && c.Server == name }) {
			return
		}
		d.Calls = append(d.Calls, found)
		var story []string
		for _, s := range made {
			story = append(story, s.label)
		}
		errs = append(errs, fmt.Errorf("seed %d, FIFO %v, maxReceiveCount %d: %s: %s (%s). The calls were\n  %s", seed, q.fifo, q.most, found.Call, found.Differs, how, strings.Join(story, "\n  ")))
	}
	var workers sync.WaitGroup
	for worker := range atOnce {
		workers.Go(func() {
			for i := worker; i < emulatorOptions.sequences; i += atOnce {
				if err := must.Run(func() { sequence(emulatorOptions.seed + uint64(i)) }); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	fmt.Printf("%d of %d sequences of calls came to a difference\n", differ, emulatorOptions.sequences)
	if err := errors.Join(errs...); !emulatorOptions.update {
		must.Do(err)
	} else if err != nil {
		fmt.Println(err)
	}
}

// fates are the themes of checks about what becomes of messages.
var fates = []string{"attempts", "batch", "deduplication", "delay", "delete", "fair", "fifo", "groups", "moves", "purge", "receive", "redrive", "redrive-fifo", "send", "visibility"}

// show returns the page with its tables.
func (d *differences) show(page string) string {
	var checks, calls, counts strings.Builder
	head := "| AWS"
	for _, other := range otherEmulators {
		head += " | " + other.name
	}
	line := "\n|" + strings.Repeat(" --- |", 1+len(otherEmulators)) + "\n"
	checks.WriteString(head + " |" + line)
	counts.WriteString(strings.Replace(head, "AWS", "checks that fail", 1) + " |" + line)
	marks := func(c *failedCheck) (text string) {
		for _, other := range otherEmulators {
			text += map[bool]string{true: " no |", false: " |"}[slices.Contains(c.Fail, other.name)]
		}
		return text
	}
	sums := map[string]map[string]int{}
	for _, c := range d.Checks {
		theme, _, _ := strings.Cut(c.ID, "/")
		if slices.Contains(fates, theme) {
			fmt.Fprintf(&checks, "| %s |%s\n", c.Must, marks(c))
		}
		for _, name := range c.Fail {
			if sums[theme] == nil {
				sums[theme] = map[string]int{}
			}
			sums[theme][name]++
		}
	}
	for _, theme := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&counts, "| `%s` |", theme)
		for _, other := range otherEmulators {
			fmt.Fprintf(&counts, " %d |", sums[theme][other.name])
		}
		counts.WriteString("\n")
	}
	calls.WriteString("| call | server | answer | AWS |\n| --- | --- | --- | --- |\n")
	for i, c := range d.Calls {
		if i > 0 && d.Calls[i-1].Call == c.Call && d.Calls[i-1].Differs == c.Differs {
			continue
		}
		servers := c.Server
		for _, other := range d.Calls[i+1:] {
			if other.Call == c.Call && other.Differs == c.Differs {
				servers += ", " + other.Server
			}
		}
		fmt.Fprintf(&calls, "| %s | %s | %s | %s |\n", c.Call, servers, c.Differs, c.AWS)
	}
	for name, text := range map[string]string{"checks": checks.String(), "calls": calls.String(), "counts": counts.String()} {
		section := regexp.MustCompile(`(?s)(<!-- ` + name + `[^\n]*\n).*?(<!-- end of ` + name + ` -->)`)
		page = section.ReplaceAllStringFunc(page, func(old string) string {
			parts := section.FindStringSubmatch(old)
			return parts[1] + text + parts[2]
		})
	}
	return page
}
