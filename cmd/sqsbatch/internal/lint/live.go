package lint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/live"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// A deployed file has what is deployed of a queue in place of a text. Its path is the queue's ARN.
type deployed struct {
	name    string  // of the queue
	refused []error // of calls
}

// liveFlags are the flags for what is deployed. They need --live.
func (o *options) liveFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.live, "live", false, "check what is deployed: the arguments are queues, by name, URL or ARN, or by a prefix of names with a *")
	f.Var(cli.Texts(&o.account.Functions, "NAME"), "function", "also the queues of a function's mappings; may be repeated")
	o.account.Flags(f)
}

// checkLive checks the arguments and flags of --live.
func (o *options) checkLive(flags *pflag.FlagSet, args []string) error {
	given := func(names ...string) string {
		i := slices.IndexFunc(names, flags.Changed)
		if i < 0 {
			return ""
		}
		return names[i]
	}
	if name := given("function", "region", "profile", "endpoint-url"); name != "" && !o.live {
		return cli.Usagef(command, "--%s needs --live", name)
	}
	if !o.live {
		return nil
	}
	if name := given("fix", "parameter-overrides", "config-env"); name != "" {
		return cli.Usagef(command, "--%s is for templates, and --live reads none", name)
	}
	o.account.Names = args
	if len(args)+len(o.account.Functions) == 0 {
		return cli.Usagef(command, "--live needs a queue or --function: sqsbatch lint --live orders; '*' is all queues of the region")
	}
	for _, arg := range args {
		if arg == stdin || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") || strings.HasSuffix(arg, ".json") {
			return cli.Usagef(command, "%s: --live reads queues and no templates; check templates without it", arg)
		}
	}
	return nil
}

// readLive reads queues and applies the rules.
func (o *options) readLive(ctx context.Context) ([]*file, error) {
	queues, requests, err := live.Read(ctx, o.account)
	if err != nil {
		return nil, err
	}
	var files []*file
	for _, q := range queues {
		files = append(files, o.judgeLive(q))
	}
	var parts []string
	for _, service := range slices.Sorted(maps.Keys(requests)) {
		parts = append(parts, fmt.Sprintf("%s %d", service, requests[service]))
	}
	o.requests = "requests: " + strings.Join(parts, ", ")
	return files, nil
}

// judgeLive applies the rules to a queue.
func (o *options) judgeLive(q *live.Queue) *file {
	f := &file{input: input{path: q.Name, generated: true}, live: &deployed{q.Name, q.Refused}}
	if q.ARN != "" {
		f.path = q.ARN
	}
	if f.err = q.Err; f.err != nil {
		return f
	}
	if f.Result, f.err = apply(q.Source.Template, q.Source.Options); f.err != nil {
		f.err = fmt.Errorf("%s: %w", f.path, f.err)
		return f
	}
	f.relocate(q.Source)
	f.Unknown = append(f.Unknown, q.Unknown...)
	f.Findings = slices.DeleteFunc(f.Findings, func(x rules.Finding) bool {
		return slices.ContainsFunc(q.Unknown, func(u rules.Unknown) bool { return slices.Contains(u.Rules, x.ID) })
	})
	f.judged = o.judge(f.path, f.Result)
	return f
}

// ofQueue reports whether a path is a queue's ARN.
func ofQueue(path string) bool {
	_, err := endpoint.ParseARN(path)
	return err == nil
}

// heading names a queue before what was found.
func (w *writer) heading(f *file) {
	text := show.Clean(f.live.name)
	if ofQueue(f.path) {
		text += w.term.Paint(view.Aside, " "+show.Clean(f.path))
	}
	w.WriteString(text + "\n")
}

// refused says which calls failed, each once.
func (w *writer) refused(files []*file) {
	said := map[string]bool{}
	for _, f := range files {
		for _, err := range f.live.refused {
			what, _, _ := strings.Cut(err.Error(), " (")
			if !said[what] {
				said[what] = true
				fmt.Fprintf(w, "%s %s\n", w.term.Paint(view.Waiting, "not read:"), show.Clean(err.Error()))
			}
		}
	}
}

// table lists queues, those with the worst findings first.
func (w *writer) table(o *options, files []*file) {
	type row struct {
		name   string
		counts [5]int // queues that were not read, severities, and places that were not checked
		worst  string
	}
	var list []row
	for _, f := range files {
		r := row{name: f.live.name}
		worst := len(severities)
		for _, x := range o.shown(f) {
			n := rank(string(x.Severity))
			r.counts[1+n]++
			if n < worst {
				worst, r.worst = n, x.ID+" "+x.Title
			}
		}
		switch {
		case f.err != nil:
			r.counts[0], r.worst = 1, "not read"
		case r.worst == "":
			r.worst = "-"
		}
		r.counts[4] = len(f.Unknown)
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b row) int { return slices.Compare(b.counts[:], a.counts[:]) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "queue\terrors\twarnings\tnotes\tunknown\tworst")
	for _, r := range list {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", show.Clean(r.name), r.counts[1], r.counts[2], r.counts[3], r.counts[4], r.worst)
	}
	_ = t.Flush() // to memory
	w.WriteString("\n")
}
