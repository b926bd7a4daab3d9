package simulate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// own is the repository's template.
const own = "../../../../template.yaml"

// command runs the command in a directory without a template.
func simulated(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	tio := cli.IO{Args: append([]string{command}, args...), Stdout: show.To(&out), Stderr: show.To(&errOut)}
	status = cli.Run(t.Context(), cli.Root(tio, Command(tio)))
	return status, out.String(), errOut.String()
}

// Each wrong flag and file is named with its value and what is allowed. Nothing runs.
func TestBadInput_IsNamedWithWhatIsAllowed(t *testing.T) {
	broken := golden.File(t, "metrics.json", `{"durationMs": null}`)
	falling := golden.File(t, "metrics.json", `{"durationMs": {"min": 5, "p50": 1, "p90": 2, "p99": 3, "max": 4}}`)
	empty := golden.File(t, "load.csv", "")
	fifo := golden.File(t, "template.yaml", "Resources: {}")
	for args, want := range map[string]string{
		"":                                          "nothing is sent; give --rate 500/s, --burst 100000 or --load FILE",
		"--rate 500":                                `--rate is "500"; "500" is not a rate; write it as 500/s`,
		"--rate -1/s":                               `"-1/s" must be from 0 to 100,000 a second`,
		"--rate NaN/s":                              `"NaN/s" must be from 0 to`,
		"--rate 1/s,2/s":                            `"2/s" needs a time, as in 2/s@30m`,
		"--rate 1/s,2/s@2h,3/s@1h":                  `"3/s@1h" comes before the point to its left`,
		"--rate 1/s,2/s@soon":                       `"soon" is not a time since the beginning`,
		"--rate day:5/s":                            "a day's curve is written as day:LOW,HIGH",
		"--rate 90000/s":                            "324,000,000 messages would be sent in 1h; at most 20,000,000 are simulated",
		"--burst many":                              `--burst is "many"; it must be a number from 1 to 20000000`,
		"--burst 5@2h":                              `--burst is "5@2h"; it begins at 2h, when the simulation of 1h (--for) is over`,
		"--load nowhere.json":                       "--load: open nowhere.json",
		"--load " + empty:                           empty + ": it has 0 samples",
		"--load a --rate 1/s":                       "both --rate and --load say what is sent; give one",
		"--rate 1/s --size 2MB":                     `--size is "2MB"; it must be from 1 byte to 1MiB`,
		"--rate 1/s --duration soon":                `--duration is "soon"; there is no such file; it must be a duration like 100ms, lognormal:MEDIAN,P99`,
		"--rate 1/s --duration 0s":                  `"0s" must be a duration above 0`,
		"--rate 1/s --duration lognormal:1s,1ms":    "the 99th percentile 1ms is below the median 1s",
		"--rate 1/s --duration lognormal:1s":        `"" must be a duration above 0`,
		"--rate 1/s --duration " + broken:           "its durationMs is null",
		"--rate 1/s --duration " + falling:          "the percentiles must rise",
		"--rate 1/s --duration " + empty:            "it is not a file that --metrics of `sqsbatch local` wrote",
		"--rate 1/s --fail 101%":                    `--fail is "101%"; "101%" is not a share; it must be from 0% to 100%`,
		"--rate 1/s --fail broken=1%":               `there is no share "broken"; there are retry, permanent, hang, crash, poison`,
		"--rate 1/s --fail retry=60%,hang=60%":      "the shares add up to 120%",
		"--rate 1/s --outage 20m":                   `--outage is "20m"; "20m" must be a length and a start, like 20m@30m`,
		"--rate 1/s --outage fire:20m@30m":          `there is no kind "fire"; there are errors, hangs, permanents, crashes, slow, aborts, kills, throttle`,
		"--rate 1/s --outage slow:20m@30m":          `"slow" needs a factor above 0 up to 1000, like slow=5`,
		"--rate 1/s --outage kills=1ms:20m@30m":     `"kills=1ms" needs the time between two kills, at least 1s`,
		"--rate 1/s --outage errors=0%:20m@30m":     `"0%" must be above 0%`,
		"--rate 1/s --outage 20m@2h":                "it begins at 2h, when the simulation of 1h (--for) is over",
		"--rate 1/s --for 0s":                       "--for is 0s; it must be from 1s to 336h",
		"--rate 1/s --tasks 2":                      "--tasks and --scale are for --mode poll",
		"--rate 1/s --mode poll --tasks 0":          "--tasks is 0; it must be from 1 to 5000",
		"--rate 1/s --mode poll --scale keda:0,1,2": `--scale is "keda:0,1,2"; it must be keda or tracking`,
		"--rate 1/s --mode poll --scale fast":       `--scale is "fast"; it must be keda or tracking`,
		"--rate 1/s --groups 5":                     "--groups is 5, and queue local is not a FIFO queue",
		"--rate 1/s --set BatchSize":                `--set is "BatchSize"; it must be written as NAME=VALUE`,
		"--rate 1/s --set BatchSize=0":              `BatchSize is "0"; it must be a whole number from 1 to 10000`,
		"--rate 1/s --set MaximumConcurrency=1":     `MaximumConcurrency is "1"; it must be a whole number from 2 to 1000, or none`,
		"--rate 1/s --set MaxConcurrency=5":         "there is no setting MaxConcurrency; is MaximumConcurrency meant?",
		"--rate 1/s --set Tasks=5":                  "Tasks has no effect without --mode poll",
		"--rate 1/s --mode poll --set BatchSize=5":  "BatchSize has no effect without --mode lambda",
		"--rate 1/s --env SQSBATCH_OUTAGE=soon":     `SQSBATCH_OUTAGE is "soon": it must be whole seconds from 1s to 7h`,
		"--rate 1/s --env SQSBATCH_OUTAG=1m":        "there is no setting SQSBATCH_OUTAG; is SQSBATCH_OUTAGE meant?",
		"--rate 1/s --vary BatchSize":               `--vary is "BatchSize"; it must be written as NAME=A,B,C`,
		"--rate 1/s --find":                         "--find needs a bound: --age 5m or --dead 0",
		"--rate 1/s --dead 0":                       "--age and --dead are bounds of --find",
		"--rate 1/s --find --age -1m":               "they must not be negative",
		"--rate 1/s --function F":                   "there is no template.yaml here; name a template",
		"--rate 1/s nowhere.yaml":                   "nowhere.yaml",
		"--rate 1/s " + fifo:                        "has no function with an event of type SQS",
		"--rate 1/s a b c":                          "there are 3 templates; give one, or two to compare",
		"--rate 1/s " + own + " --config-env prd":   `--config-env is "prd", and the file has`,
	} {
		status, stdout, stderr := simulated(t, strings.Fields(args)...)
		if status == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %q, %q; want %q", args, status, stdout, stderr, want)
		}
	}
	if status, _, stderr := simulated(t, "--rate", "1/s", "--vary", "BatchSize=1,2,3,4,5,6,7,8,9,10,11", "--vary", "maxReceiveCount=1,2,3,4,5,6,7,8,9,10"); status != 2 || !strings.Contains(stderr, "--vary asks for 110 runs; at most 100 are made") {
		t.Errorf("too many runs: status %d, %s", status, stderr)
	}
}

// scenario returns what the command would run.
func scenario(t *testing.T, o options) model.Scenario {
	t.Helper()
	o.size, o.length, o.tasks = "2KB", time.Hour, max(1, o.tasks)
	if o.duration == "" {
		o.duration = "100ms"
	}
	if o.mode == "" {
		o.mode = modeLambda
	}
	if o.configEnv == "" {
		o.configEnv = "default"
	}
	o.rate = "1/s"
	var err error
	o.given, err = o.readGiven()
	golden.OK(t, err)
	c, err := o.compare()
	golden.OK(t, err)
	return c.runs[0].variant.scenario
}

// The repository's template, its samconfig.toml and the defaults give the scenario that they deploy.
func TestTemplate_IsTheScenario(t *testing.T) {
	defaults := scenario(t, options{})
	if m := defaults.Mapping; m.BatchSize != 10 || m.MaximumConcurrency != 10 || !m.ReportBatchItemFailures ||
		defaults.Function.Timeout != 10*time.Second || defaults.Function.MemoryMB != 256 ||
		defaults.Queue.Visibility != time.Minute || defaults.Queue.MaxReceiveCount != 5 || defaults.Queue.FIFO || len(defaults.Alarms) != 0 {
		t.Errorf("the defaults: %+v %+v", defaults, *m)
	}

	of := scenario(t, options{templates: []string{own}, env: cli.Assignments{"SQSBATCH_OUTAGE": "30m", "SQSBATCH_CONCURRENCY": "5"}})
	if of.Queue != defaults.Queue || *of.Mapping != *defaults.Mapping || of.Function != defaults.Function {
		t.Errorf("template.yaml differs from the defaults: %+v", of)
	}
	if of.Toolkit.Outage != 30*time.Minute || of.Toolkit.Concurrency != 5 {
		t.Errorf("--env: %+v", of.Toolkit)
	}
	want := []model.Alarm{
		{Name: "DeadLettersAlarm", Metric: model.DeadLettersMetric, Period: time.Minute, Periods: 1, Datapoints: 1},
		{Name: "OldestMessageAlarm", Metric: model.AgeMetric, Threshold: 1800, Period: time.Minute, Periods: 5, Datapoints: 3},
	}
	if len(of.Alarms) != 2 || of.Alarms[0] != want[0] || of.Alarms[1] != want[1] {
		t.Errorf("alarms: %+v, want %+v", of.Alarms, want)
	}

	prod := scenario(t, options{templates: []string{own}, configEnv: "prod", parameters: cli.Assignments{"MaximumConcurrency": "7"}})
	if m := prod.Mapping; m.BatchSize != 100 || m.Window != time.Second || m.MaximumConcurrency != 7 ||
		prod.Function.Timeout != 30*time.Second || prod.Function.MemoryMB != 512 || prod.Queue.Visibility != 181*time.Second {
		t.Errorf("--config-env prod: %+v %+v", prod, *m)
	}

	fifo := scenario(t, options{templates: []string{own}, parameters: cli.Assignments{"Fifo": "true"}, groups: 7})
	if !fifo.Queue.FIFO || fifo.Load.Groups != 7 {
		t.Errorf("a FIFO queue: %+v %+v", fifo.Queue, fifo.Load)
	}
}

// --set and --vary change settings, variables and parameters, in order.
func TestSet_ChangesTheScenario(t *testing.T) {
	s := scenario(t, options{templates: []string{own}, set: assignments{
		{"BatchSize", "5"}, {"MaximumConcurrency", "none"}, {"ReservedConcurrentExecutions", "3"}, {"FunctionTimeout", "30"},
		{"SQSBATCH_BACKOFF", "exponential"}, {"maxReceiveCount", "9"}, {"BatchSize", "6"},
	}})
	if s.Mapping.BatchSize != 6 || s.Mapping.MaximumConcurrency != 0 || s.Function.Reserved != 3 || s.Function.Timeout != 30*time.Second ||
		s.Queue.Visibility != 3*time.Minute || s.Toolkit.BackoffBase != 2*time.Second || s.Queue.MaxReceiveCount != 9 {
		t.Errorf("%+v %+v", s, *s.Mapping)
	}
	poll := scenario(t, options{mode: modePoll, tasks: 3, scale: "keda:100,1,20", env: cli.Assignments{"SQSBATCH_CONCURRENCY": "50", "SQSBATCH_PREFETCH": "0"}})
	if c := poll.Containers; poll.Mapping != nil || c.Tasks != 3 || c.Slots != 50 || c.Prefetch != -1 || c.Scaling.MessagesPerTask != 100 || c.Scaling.Max != 20 || !c.Scaling.InFlight {
		t.Errorf("containers: %+v", c)
	}
}

// A file of --metrics is a distribution whose percentiles are those of the file.
func TestDurations_OfMetricsHaveItsPercentiles(t *testing.T) {
	path := golden.File(t, "metrics.json", `{"durationMs": {"count": 9, "min": 10, "p50": 100, "p90": 500, "p99": 2000, "max": 3000}}`)
	q := scenario(t, options{duration: path}).Work.Durations.Quantiles
	if len(q) != 101 {
		t.Fatalf("%d quantiles", len(q))
	}
	for at, ms := range map[int]int{0: 10, 25: 55, 50: 100, 70: 300, 90: 500, 99: 2000, 100: 3000} {
		if got := q[at]; got != time.Duration(ms)*time.Millisecond {
			t.Errorf("percentile %d is %s, want %d ms", at, got, ms)
		}
	}
}

// Troubles and shares have the words of the model.
func TestTroubles_AndShares(t *testing.T) {
	s := scenario(t, options{
		fail:    "2%,permanent=1%,poison=0.1%,poison-crash=0.2%",
		outages: []string{"20m@30m", "errors=30%:1m@2m", "slow=5:10m@5m", "aborts=30s:1m@1m", "kills=5m:20m@0s", "throttle=0:1m@1m", "crashes:1m@1m"},
	})
	if w := s.Work; w.Outcomes != (model.Shares{Retry: 0.02, Permanent: 0.01}) || w.Poison != (model.Shares{Retry: 0.001, Crash: 0.002}) {
		t.Errorf("shares: %+v", w)
	}
	const minute = time.Minute
	want := []model.Trouble{
		{Kind: model.Errors, From: 30 * minute, Until: 50 * minute},
		{Kind: model.Errors, Share: 0.3, From: 2 * minute, Until: 3 * minute},
		{Kind: model.Slow, Factor: 5, From: 5 * minute, Until: 15 * minute},
		{Kind: model.Aborts, After: minute / 2, From: minute, Until: 2 * minute},
		{Kind: model.Kills, Every: 5 * minute, Until: 20 * minute},
		{Kind: model.Throttle, From: minute, Until: 2 * minute},
		{Kind: model.Crashes, From: minute, Until: 2 * minute},
	}
	for i, w := range want {
		if s.Troubles[i] != w {
			t.Errorf("trouble %d is %+v, want %+v", i, s.Troubles[i], w)
		}
	}
}

// What lint finds comes first.
func TestLint_IsSaidFirst(t *testing.T) {
	text, err := os.ReadFile(own)
	golden.OK(t, err)
	bad := strings.Replace(string(text), "            FunctionResponseTypes: [ReportBatchItemFailures]\n", "", 1)
	path := golden.File(t, "template.yaml", bad)
	_, stdout, stderr := simulated(t, "--rate", "1/s", path)
	if !strings.HasPrefix(stdout, "lint error") || !strings.Contains(stdout, "(SB101)") || !strings.Contains(stdout, "sqsbatch lint "+filepath.Dir(path)) {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// The JSON has a report for each run, and the same seed gives the same bytes.
func TestJSON_IsTheSameForASeed(t *testing.T) {
	args := []string{"--rate", "5/s", "--fail", "5%", "--outage", "5m@10m", "--output", "json"}
	_, first, stderr := simulated(t, args...)
	_, second, _ := simulated(t, args...)
	_, other, _ := simulated(t, append(args, "--seed", "2")...)
	if first != second || first == other || stderr != "" {
		t.Errorf("the same: %v, another seed the same: %v, %s", first == second, first == other, stderr)
	}
	var out struct {
		Runs []struct {
			Settings map[string]string
			Totals   struct{ Sent, Handled int }
			Samples  []json.RawMessage
		}
		Best *int
	}
	golden.OK(t, json.Unmarshal([]byte(first), &out))
	if len(out.Runs) != 1 || out.Runs[0].Totals.Sent < 17_000 || len(out.Runs[0].Samples) == 0 || out.Best != nil {
		t.Errorf("%.1000s", first)
	}
	_, varied, _ := simulated(t, append(args, "--vary", "BatchSize=1,10", "--find", "--dead", "1000")...)
	golden.OK(t, json.Unmarshal([]byte(varied), &out))
	if len(out.Runs) != 2 || out.Runs[1].Settings["BatchSize"] != "10" || out.Best == nil || *out.Best != 1 {
		t.Errorf("%.1000s", varied)
	}
}

// Two templates are two rows of a table.
func TestTwoTemplates_AreCompared(t *testing.T) {
	text, err := os.ReadFile(own)
	golden.OK(t, err)
	slow := golden.File(t, "slow.yaml", strings.Replace(string(text), "MaximumConcurrency: !Ref MaximumConcurrency", "MaximumConcurrency: 2", 1))
	status, stdout, stderr := simulated(t, "--burst", "2000", "--for", "5m", own, slow)
	golden.Says(t, "the table", stdout, "run ", "age at most", "\n"+own+" ", "\n"+slow+" ")
	if status != 0 {
		t.Error(stderr)
	}
}
