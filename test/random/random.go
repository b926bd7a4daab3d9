// Package random runs this module's random tests. A test draws histories, each from a seed,
// carries them out, mostly in virtual time, and judges them. What is drawn and judged is the
// test's own; seeds, flags, counts and the search for mutants are here, once:
//
//	go test ./sender -run Histories -count=1 -v -args -seed=7 -histories=1000
package random

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

var (
	first  = flag.Uint64("seed", 1, "the seed of the first history; each has the next")
	number = flag.Int("histories", 0, "how many histories; 0 for few, or many with TEST_MANY")
	step   = flag.Int("step", 1, "carry out each history whose number is a multiple")
	goOn   = flag.Bool("all", false, "go on after a history that goes wrong")
	search = flag.Bool("search", false, "look for each mutant from the first history on, and note in "+caughtFile+" which one catches it")
)

// Histories are those of one test.
type Histories struct {
	Few, Many int // how many, without and with TEST_MANY
	AtOnce    int // how many at a time in a process, which mostly wait for a server; 0 for 1
	// Processes share many histories, one for each processor: what is global in a process, such as a
	// seed of crypto/rand, is then one history's.
	Processes bool

	// Each of Expect, and each name that Run counts with 0, has to occur in Enough histories:
	// a judge that has seen nothing has found nothing.
	Expect []string
	Enough int

	// Run carries out the history of a seed. It fails the test if something is wrong.
	Run func(t *testing.T, seed uint64, seen Seen)
}

// Seen counts what occurred in a history.
type Seen map[string]int

func (s Seen) add(more Seen) {
	for what, times := range more {
		s[what] += times
	}
}

// Saw counts something if it occurred.
func (s Seen) Saw(what string, is bool) {
	s[what] += 0
	if is {
		s[what]++
	}
}

// Check carries out histories until one goes wrong, and tells its seed. It returns what occurred;
// nil in a process that carries out a share of them.
func (h Histories) Check(t *testing.T) Seen {
	t.Helper()
	began, n := time.Now(), cmp.Or(*number, cases.Of(h.Few, h.Many))
	all := Seen{}
	if file := os.Getenv(shareFile); file != "" {
		h.share(t, n, all)
		writeSeen(t, file, all)
		return nil
	}
	for _, what := range h.Expect {
		all[what] = 0
	}
	if h.Processes && n >= 200 && runtime.NumCPU() > 1 {
		inProcesses(t, n, all)
	} else {
		h.share(t, n, all)
	}
	t.Logf("%d histories in %v, in which occurred:\n%v", n, time.Since(began).Round(100*time.Millisecond), all)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if all[what] == 0 && h.Enough > 0 && n >= h.Enough {
			t.Errorf("%s never occurred in %d histories, so its judge has seen nothing", what, n)
		}
	}
	return all
}

// share carries out histories, each step-th.
func (h Histories) share(t *testing.T, n int, all Seen) {
	var mu sync.Mutex
	var workers sync.WaitGroup
	atOnce := max(1, h.AtOnce)
	for k := range atOnce {
		workers.Go(func() {
			t.Run(fmt.Sprint("worker", k), func(t *testing.T) {
				for i := k * *step; i < n && (*goOn || !t.Failed()); i += atOnce * *step {
					seen := h.one(t, *first+uint64(i))
					mu.Lock()
					all.add(seen)
					mu.Unlock()
				}
			})
		})
	}
	workers.Wait()
}

// shareFile is the variable with the file for what a process has seen that carries out a share of
// another's histories.
const shareFile = "SQSBATCH_HISTORIES_SEEN"

// inProcesses has processes carry out a share each.
func inProcesses(t *testing.T, n int, all Seen) {
	processes := runtime.NumCPU()
	var given []string
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			given = append(given, "-"+f.Name+"="+f.Value.String())
		}
	})
	var mu sync.Mutex
	var running sync.WaitGroup
	for k := range processes {
		file := filepath.Join(t.TempDir(), "seen.json")
		args := append([]string{"-test.run=^" + t.Name() + "$", "-test.timeout=0"}, given...)
		args = append(args, fmt.Sprint("-seed=", *first+uint64(k)), fmt.Sprint("-histories=", n-k), fmt.Sprint("-step=", processes))
		running.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0], args...)
			// Each call of the SDK grows the stack of a new goroutine, which adaptivestackstart saves.
			c.Env = append(os.Environ(), shareFile+"="+file, "GODEBUG=adaptivestackstart=1,"+os.Getenv("GODEBUG"))
			output, err := c.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			all.add(readSeen(t, file))
		})
	}
	running.Wait()
}

func writeSeen(t *testing.T, file string, all Seen) {
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(file, text, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}

func readSeen(t *testing.T, file string) (all Seen) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Error(err)
	}
	return all
}

func (h Histories) one(t *testing.T, seed uint64) Seen {
	defer func() { // Run may have ended the goroutine
		if t.Failed() {
			t.Logf("seed %d: again by -run '^%s$' -args -seed=%d -histories=1", seed, strings.Split(t.Name(), "/")[0], seed)
		}
	}()
	seen := Seen{}
	h.Run(t, seed, seen)
	return seen
}

// String prints a count a line.
func (s Seen) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%9d  %s\n", s[what], what)
	}
	return b.String()
}

// caughtFile has the history by which each mutant is caught: it is the first to be tried.
// What it says is only a hint: when the plans change, the search goes on from there, which
// takes longer. To write it anew:
//
//	go test ./test/simulate -run 'Mutants$' -count=1 -args -search
const caughtFile = "testdata/caught.json"

var caughtMu sync.Mutex

func hints(t *testing.T) map[string]uint64 {
	t.Helper()
	list := map[string]uint64{}
	text, err := os.ReadFile(caughtFile)
	if os.IsNotExist(err) {
		return list
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Catch fails the test of a mutant unless one of some histories shows that it is wrong: caught
// carries out the history of a seed, and says how it is, or "".
func Catch(t *testing.T, within uint64, caught func(t *testing.T, seed uint64) string) {
	t.Helper()
	caughtMu.Lock()
	from := hints(t)[t.Name()]
	caughtMu.Unlock()
	if *search {
		from = 0
	}
	for n := range within {
		if text := caught(t, from+n); text != "" {
			t.Logf("caught in history %d, after %d: %s", from+n, n, text)
			if *search {
				note(t, from+n)
			}
			return
		}
	}
	t.Errorf("not caught in %d histories", within)
}

// note writes which history caught a mutant.
func note(t *testing.T, seed uint64) {
	t.Helper()
	caughtMu.Lock()
	defer caughtMu.Unlock()
	all := hints(t)
	all[t.Name()] = seed
	text, err := json.MarshalIndent(all, "", "\t")
	if err == nil {
		err = os.WriteFile(caughtFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// Rand draws.
type Rand struct{ *rand.Rand }

// New returns what draws by a seed; streams of one seed differ.
func New(seed, stream uint64) Rand { return Rand{rand.New(rand.NewPCG(seed, stream))} }

// OneIn is true in one of n cases.
func (r Rand) OneIn(n int) bool { return r.IntN(n) == 0 }

// UpTo returns a duration below d.
func (r Rand) UpTo(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// Weighted returns i with a probability of weights[i] over their sum.
func (r Rand) Weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("unreachable")
}

type source interface{ IntN(n int) int }

// Pick returns one of from.
func Pick[T any](r source, from ...T) T { return from[r.IntN(len(from))] }

// Sometimes returns the zero value, or in one of n cases one of from.
func Sometimes[T any](r source, n int, from ...T) (zero T) {
	if r.IntN(n) == 0 {
		return Pick(r, from...)
	}
	return zero
}

// Faults returns some of kinds, about a third, each with a probability, and perhaps for some
// calls only. Those that may strike any call get one of operations, if there are any.
func (r Rand) Faults(operations []string, kinds ...sqs.Fault) (list []sqs.Fault) {
	for _, f := range kinds {
		if !r.OneIn(3) {
			continue
		}
		f.Probability, f.Times = Pick(r, 0.02, 0.1, 0.3, 0.8), Sometimes(r, 3, 1, 3, 10)
		if f.Kind == sqs.Latency {
			f.Latency = r.UpTo(3*time.Second) + 1
		}
		if f.Kind != sqs.EntryFailure && f.Kind != sqs.DuplicateDelivery && len(operations) > 0 {
			f.Operation = Pick(r, operations...)
		}
		list = append(list, f)
	}
	return list
}

// Mix is the finalizer of SplitMix64: near numbers give numbers far apart.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
