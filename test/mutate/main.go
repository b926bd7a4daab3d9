// Command mutate changes the core in one place at a time, and reports the changes that no test
// notices:
//
//	go run ./test/mutate                         all mutants (about an hour on two processors)
//	go run ./test/mutate -sample 200 -seed 7     200 of them
//	go run ./test/mutate -in internal/settle     those of a package
//	go run ./test/mutate -mutant 412             one
//
// All mutants are compiled at once: each place in the source gets a condition that is true for the
// mutant whose number is in the environment variable MUTANT. So a mutant costs a run of tests and no
// build. Before that each test runs by itself, to see which mutants it reaches and how long it takes.
// A mutant runs the tests that reach it, quick ones first: those of its own package, then those of the
// others, then the simulator's histories, until one fails. A mutant that none fails for has to be in
// survivors.txt, with the reason. Otherwise the exit status is 1.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// packages are those that are changed, and whose tests run, the quickest first. draw has no tests of its own.
var packages = []string{"internal/draw", "batch", "partialfailure", "internal/runner", "internal/settle", "internal/longpoll", "handler"}

// others are packages whose tests run last.
var others = []string{"bulk", "idempotency", "test/simulate"}

const module = "github.com/sqsbatch/sqsbatch/"

var (
	sample = flag.Int("sample", 0, "how many mutants, drawn by the seed; 0 for all")
	seed   = flag.Uint64("seed", 1, "the seed of the sample")
	in     = flag.String("in", "", "only mutants whose file begins with this")
	some   = flag.String("mutant", "", "only the mutants with these numbers, as in 412,413")
	list   = flag.Bool("list", false, "list the mutants, and run none")
	jobs   = flag.Int("jobs", 2, "how many at a time")
)

//go:embed survivors.txt
var explained string

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sqsbatch-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, overlay, err := mutate(dir)
	if err != nil {
		return err
	}
	chosen := choose(all)
	if *list {
		for _, m := range chosen {
			fmt.Println(m)
		}
		return nil
	}
	suites, err := build(ctx, dir, overlay)
	if err != nil {
		return err
	}
	return verdict(chosen, try(ctx, suites, chosen))
}

func choose(all []mutant) (chosen []mutant) {
	for _, m := range all {
		if strings.HasPrefix(m.file, *in) && (*some == "" || slices.Contains(strings.Split(*some, ","), strconv.Itoa(m.number))) {
			chosen = append(chosen, m)
		}
	}
	if *sample > 0 && *sample < len(chosen) {
		r := rand.New(rand.NewPCG(*seed, 0))
		r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:*sample]
		slices.SortFunc(chosen, func(a, b mutant) int { return a.number - b.number })
	}
	return chosen
}

// A suite has the tests of a package, compiled.
type suite struct {
	pkg, binary string
	args        []string
	tests       []test // the quickest first
}

type test struct {
	name    string
	takes   time.Duration
	reaches map[int]bool // mutants
}

// build compiles the tests, and runs each of them without a mutant.
func build(ctx context.Context, dir, overlay string) (suites []suite, err error) {
	for _, pkg := range slices.Concat(packages, others) {
		s := suite{pkg: pkg, binary: filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")), args: []string{"-test.failfast"}}
		if pkg == "test/simulate" {
			s.args = append(s.args, "-histories=150", "-shrink=false")
		}
		if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", s.binary, "./"+pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("the mutants of %s do not build: %w\n%s", pkg, err, out)
		}
		if _, err := os.Stat(s.binary); errors.Is(err, os.ErrNotExist) {
			continue // it has no tests
		}
		list := exec.CommandContext(ctx, s.binary, "-test.list=^(Test|Example|Fuzz)")
		list.Dir = pkg
		names, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("the tests of %s cannot be listed: %w", pkg, err)
		}
		began := time.Now()
		for name := range strings.FieldsSeq(string(names)) {
			if pkg == "test/simulate" && name != "TestSimulate" || strings.HasSuffix(name, "Mutants") || strings.Contains(name, "Allocation") {
				continue
			}
			t, err := s.look(ctx, name, filepath.Join(dir, "seen"))
			if err != nil {
				return nil, err
			}
			s.tests = append(s.tests, t)
		}
		slices.SortFunc(s.tests, func(a, b test) int { return cmp.Compare(a.takes, b.takes) })
		fmt.Printf("%s: %d tests, %.1f s\n", pkg, len(s.tests), time.Since(began).Seconds())
		suites = append(suites, s)
	}
	return suites, nil
}

// look runs a test without a mutant.
func (s suite) look(ctx context.Context, name, file string) (test, error) {
	t := test{name: name, reaches: map[int]bool{}}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return t, err
	}
	began := time.Now()
	if out, err := s.run(ctx, 0, []test{t}, 10*time.Minute, "MUTANT_SEEN="+file); err != nil {
		return t, fmt.Errorf("%s of %s fails without a mutant: %w\n%s", name, s.pkg, err, out)
	}
	t.takes = time.Since(began)
	seen, err := os.ReadFile(file)
	for number := range strings.FieldsSeq(string(seen)) {
		n, _ := strconv.Atoi(number)
		t.reaches[n] = true
	}
	return t, err
}

func (s suite) run(ctx context.Context, mutant int, tests []test, limit time.Duration, env ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	cmd := exec.CommandContext(ctx, s.binary, append(s.args, "-test.run=^("+strings.Join(names, "|")+")$", "-test.timeout="+limit.String())...)
	cmd.Dir, cmd.Env = s.pkg, append(append(os.Environ(), "MUTANT="+strconv.Itoa(mutant)), env...)
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// catches reports whether a test fails for a mutant. The tests that reach it run in two groups, the quick ones first.
func (s suite) catches(ctx context.Context, mutant int) bool {
	var groups [2][]test
	var takes [2]time.Duration
	for _, t := range s.tests {
		if !t.reaches[mutant] {
			continue
		}
		k := 0
		if takes[0]+t.takes > 2*time.Second {
			k = 1
		}
		groups[k], takes[k] = append(groups[k], t), takes[k]+t.takes
	}
	for k, group := range groups {
		if len(group) == 0 {
			continue
		}
		if _, err := s.run(ctx, mutant, group, 10*takes[k]+10*time.Second); err != nil {
			return true
		}
	}
	return false
}

// try returns for each mutant the package whose tests fail, "" for none.
func try(ctx context.Context, suites []suite, mutants []mutant) []string {
	caught := make([]string, len(mutants))
	next := make(chan int)
	var workers sync.WaitGroup
	for range *jobs {
		workers.Go(func() {
			for i := range next {
				caught[i] = mutants[i].caughtBy(ctx, suites)
				fmt.Printf("%s\t%s\n", cmp.Or(caught[i], "SURVIVES"), mutants[i])
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	workers.Wait()
	return caught
}

func (m mutant) caughtBy(ctx context.Context, suites []suite) string {
	own := func(s suite) bool { return s.pkg == filepath.ToSlash(filepath.Dir(m.file)) }
	order := slices.Clone(suites)
	slices.SortStableFunc(order, func(a, b suite) int {
		if own(a) != own(b) {
			return cmp.Compare(btoi(own(b)), btoi(own(a)))
		}
		return 0
	})
	for _, s := range order {
		if s.catches(ctx, m.number) {
			return s.pkg
		}
	}
	return ""
}

// verdict prints the share of the mutants that were caught. The error is for survivors without a reason.
func verdict(mutants []mutant, caught []string) error {
	known, by := map[string]bool{}, map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(explained))
	for lines.Scan() {
		if key, _, ok := strings.Cut(lines.Text(), "\t"); ok {
			known[key] = true
		}
	}
	var survivors []string
	unknown := 0
	for i, m := range mutants {
		by[caught[i]]++
		if caught[i] == "" && known[m.key()] {
			by["explained"]++
		} else if caught[i] == "" {
			survivors = append(survivors, m.String())
			unknown++
		}
	}
	fmt.Printf("%d mutants, %d caught (%.1f %%), %d of the others have a reason in survivors.txt\n",
		len(mutants), len(mutants)-by[""], 100*float64(len(mutants)-by[""])/float64(max(1, len(mutants))), by["explained"])
	for _, pkg := range slices.Concat(packages, others) {
		fmt.Printf("%6d by %s\n", by[pkg], pkg)
	}
	if unknown > 0 {
		return fmt.Errorf("%d mutants survive without a reason:\n%s", unknown, strings.Join(survivors, "\n"))
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A listed package is one as `go list` describes it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func goList(args ...string) (pkgs []listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for decoder.More() {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		return nil, errors.New("go list finds no package")
	}
	return pkgs, nil
}
