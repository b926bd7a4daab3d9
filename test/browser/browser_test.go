// Package browser opens the pages of `sqsbatch sqs --ui`, `sqsbatch local --ui` and
// `sqsbatch simulate --html` in a real browser: it needs chromium-headless-shell (or Chromium), and npm for axe-core.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color/palette"
	"image/draw"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "a folder for pictures of the pages")

// axeVersion is the version of axe-core, whose rules the pages keep.
const axeVersion = "4.14.1"

var (
	tool string // the path of the built command
	axe  string // the source of axe-core
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "sqsbatch-browser-")
	if err == nil {
		err = prepare(dir)
	}
	status := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

func prepare(dir string) error {
	tool = filepath.Join(dir, "sqsbatch")
	build := exec.Command("go", "build", "-o", tool, "./cmd/sqsbatch")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	pack := exec.Command("npm", "pack", "--silent", "axe-core@"+axeVersion)
	pack.Dir = dir
	if out, err := pack.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack axe-core: %w\n%s", err, out)
	}
	source, err := exec.Command("tar", "-xzOf", filepath.Join(dir, "axe-core-"+axeVersion+".tgz"), "package/axe.min.js").Output()
	axe = string(source)
	return err
}

// A command is one that runs.
type command struct {
	*exec.Cmd
	page, endpoint string
}

// start starts sqsbatch, and waits for the line with the address of its page.
func start(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.Command(tool, args...)}
	c.Dir = "../.."
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := bufio.NewReader(out)
	for c.page == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v printed no address of the page: %v", args, err)
		}
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "http://") {
				c.page, c.endpoint = word, strings.TrimSuffix(word, "/")
			}
		}
		if !strings.Contains(line, "page") {
			c.page = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return c
}

// A tab is one of the browser. What the browser complains of fails the test.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func open(t *testing.T) *tab {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.NoSandbox, chromedp.WindowSize(1200, 900)}
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
		options = append(options, chromedp.ExecPath(path))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t, ctx}
	var mu sync.Mutex
	if err := chromedp.Listen(ctx, func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the script fails: %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			gone, refused := strings.Contains(e.Entry.Text, "net::ERR_"), strings.Contains(e.Entry.Text, "status of 400")
			if !gone && !refused { // a server that has ended, and a form that was
				t.Errorf("the browser complains: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	b.must(err)
	return b
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// patience bounds each step.
const patience = 20 * time.Second

func do[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	b.must(err)
	return v
}

// act does what may lead to another page, even before the browser answers.
func (b *tab) act(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, action); err != nil && !strings.Contains(err.Error(), "navigated or closed") {
		b.t.Fatal(err)
	}
}

func (b *tab) open(url string) { b.t.Helper(); do(b, chromedp.Navigate(url)) }

// click clicks what an XPath finds, and waits until another page has a text.
func (b *tab) click(path, shows string) {
	b.t.Helper()
	do(b, chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.left = "yes"`))
	b.act(chromedp.Click(chromedp.Search(path)))
	b.until("another page", `document.documentElement.dataset.left === undefined && document.readyState === "complete"`)
	b.shows(shows)
}

// shows waits until the page has a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	b.until("the text "+text, `document.body !== null && document.body.innerText.includes(`+string(quoted)+`)`)
}

func (b *tab) until(what, condition string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](condition))
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			all, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
			b.t.Fatalf("after %s the page does not have %s: %v\n%s", patience, what, err, all)
		}
	}
}

// check applies axe-core's rules, light and dark, wide and narrow.
func (b *tab) check(name string) {
	b.t.Helper()
	do(b, chromedp.Evaluate[chromedp.Void](axe+"; 0"))
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1200, 400} {
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			b.must(err)
			do(b, chromedp.EmulateViewport(width, 900))
			for _, p := range do(b, chromedp.Evaluate[[]string](`axe.run().then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html + " " + n.failureSummary)))`, chromedp.EvalAwaitPromise)) {
				b.t.Errorf("%s, %s, %d wide: %s", name, scheme, width, p)
			}
			if over := do(b, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`)); over > 0 {
				b.t.Errorf("%s, %d wide: the page is %d pixels too wide", name, width, over)
			}
		}
	}
	do(b, chromedp.EmulateViewport(1200, 900))
}

// picture writes a picture of the page, with a palette, so that it is small.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}})
	b.must(err)
	do(b, chromedp.EmulateViewport(1000, 700))
	do(b, chromedp.Evaluate[chromedp.Void](`if (scrollY > 0) window.scrollTo(0, document.body.scrollHeight)`))
	from, err := png.Decode(bytes.NewReader(do(b, chromedp.CaptureScreenshot())))
	b.must(err)
	to := image.NewPaletted(from.Bounds(), palette.Plan9)
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	f, err := os.Create(filepath.Join(*pictures, name+".png"))
	b.must(err)
	b.must((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(f, to))
	b.must(f.Close())
}

func TestLocal_SaysWhyAnOrderIsADeadLetter(t *testing.T) {
	c := start(t, "local", "--ui")
	b := open(t)
	b.open(c.page)
	b.shows("3 in local-orders-dead")
	b.check("board")
	b.click(`//a[text()="Dead letters"]`, "Replay all 3 of local-orders-dead")
	b.click(`//button[text()="Show bodies"]`, "o-7")
	b.check("dead-letters")
	b.click(`//tr[td[contains(., "o-6")]]/th/a`, "as many as maxReceiveCount allows")
	b.shows("warehouse is busy for 1s")
	b.check("message")
	b.picture("page-message")
	b.click(`//a[text()="Dead letters"]`, "o-7")
	b.click(`//tr[td[contains(., "o-7")]]/th/a`, "quantity is 0, must be at least 1")
	b.click(`//button[starts-with(text(), "Replay it")]`, "A replay moved it to queue local-orders")
	b.click(`//a[text()="Batches"]`, "Invocation 1")
	b.check("batches")
	do(b, chromedp.Evaluate[chromedp.Void](`window.scrollTo(0, document.body.scrollHeight)`)) // to the first, which is the largest
	b.picture("page-batches")
	b.click(`//a[starts-with(text(), "Make it the timeout")]`, "The width is the timeout of 10s")
	b.click(`//a[text()="Board"]`, "Kill the processes")
	b.click(`//button[text()="Kill the processes"]`, "Board")
}

func TestPlay_ShowsARecordedRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	c := start(t, "local", "--ui", "--record", file)
	b := open(t)
	b.open(c.page)
	b.shows("3 in local-orders-dead")
	_ = c.Process.Kill() // what it has recorded stays
	c = start(t, "play", file)
	b.open(c.page)
	b.shows("3 in local-orders-dead")
	b.check("recording")
	b.click(`//a[text()="Dead letters"]`, "of local-orders")
	b.click(`//button[text()="First"]`, "There are no dead letters")
	b.click(`//button[text()="Next"]`, "Event 2 of")
	b.click(`//button[text()="Play"]`, "Pause")
	b.until("later events", `!document.body.innerText.includes("Event 2 of")`)
	b.click(`//button[text()="Pause"]`, "Play")
	b.click(`//button[text()="Last"]`, "local-orders-dead")
	b.click(`//a[text()="Dead letters"]`, "of local-orders")
	b.click(`//tbody/tr/th/a`, "Event of this message before")
	b.click(`//button[text()="Event of this message before"]`, "What happened")
	b.check("message of a recording")
	b.picture("page-play")
}

// The page of `sqsbatch simulate --html` is a file: it makes no request, and has all its plots.
func TestSimulate_WritesAPageWithPlots(t *testing.T) {
	for name, args := range map[string][]string{
		"run":    {"--rate", "20/s", "--fail", "1%", "--outage", "20m@30m"},
		"varied": {"--rate", "20/s", "--vary", "MaximumConcurrency=2,5,10", "--find", "--age", "1h"},
	} {
		file := filepath.Join(t.TempDir(), "report.html")
		c := exec.Command(tool, append([]string{"simulate", "--for", "2h", "--html", file}, args...)...)
		c.Dir = "../.."
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b := open(t)
		b.open("file://" + file)
		b.until("a plot in each figure", `document.querySelectorAll("figure").length > 0 &&
			[...document.querySelectorAll("figure")].every(f => f.querySelector("canvas").width > 300)`)
		b.check(name)
		if requests := do(b, chromedp.Evaluate[int](`performance.getEntriesByType("resource").length`)); requests > 0 {
			t.Errorf("%s: the page makes %d requests", name, requests)
		}
		b.picture("page-simulate-" + name)
	}
}

func TestLocal_ShowsTheSlotsOfProcesses(t *testing.T) {
	c := start(t, "local", "--ui", "--mode", "poll", "--processes", "2")
	b := open(t)
	b.open(c.page + "slots")
	b.until("a bar", `document.querySelector("rect.bar") !== null`)
	b.check("slots")
}

func TestSQS_FollowsTheQueues(t *testing.T) {
	const addr = "127.0.0.1:49327"
	args := []string{"sqs", "--addr", "127.0.0.1:0", "--ui=" + addr, "--queue", "orders,dead-letter=dead,max-receive-count=2", "--queue", "steps.fifo"}
	c := start(t, args...)
	b := open(t)
	b.open(c.page)
	b.shows("orders")
	b.shows("live")

	// What is typed stays while the page changes, and keys are enough.
	b.click(`//a[text()="orders"]`, "Queue orders")
	b.check("queue")
	do(b, chromedp.SendKeys(chromedp.CSS(`textarea[name="body"]`), "order {n}"))
	post(t, c.page+"queues/orders/send", "body=other")
	b.shows("1 visible")
	if typed := do(b, chromedp.Evaluate[string](`document.querySelector("textarea").value`)); typed != "order {n}" {
		t.Errorf("after a change the form has %q", typed)
	}
	do(b, chromedp.SetValue(chromedp.CSS(`input[name="count"]`), "150"))
	do(b, chromedp.Focus(chromedp.CSS(`form[action$="/send"] button`)))
	b.act(chromedp.KeyEvent(kb.Enter))
	b.shows("151 visible")
	b.click(`//a[text()="Later ones"]`, "151 messages.")
	if rows := do(b, chromedp.Evaluate[int](`document.querySelectorAll("tbody tr").length`)); rows != 51 {
		t.Errorf("the second page has %d rows", rows)
	}
	b.open(c.page)
	do(b, chromedp.KeyEvent(kb.Tab))
	do(b, chromedp.KeyEvent(kb.Enter))
	if at := do(b, chromedp.Evaluate[string](`document.activeElement.id`)); at != "main" {
		t.Errorf("the skip link leads to %q", at)
	}

	// The answer to a form stays, and a choice is the user's.
	do(b, chromedp.SetValue(chromedp.CSS(`select[name="queue"]`), "orders"))
	do(b, chromedp.SetValue(chromedp.CSS(`input[name="times"]`), "many"))
	post(t, c.page+"queues/orders/send", "body=x")
	b.until("the new message", `document.querySelector("#q-orders td").textContent === "152"`)
	if chosen := do(b, chromedp.Evaluate[string](`document.querySelector('select[name="queue"]').value`)); chosen != "orders" {
		t.Errorf("after a change the form has the queue %q", chosen)
	}
	b.click(`//button[text()="Add fault"]`, `Times is "many"; it must be a number`)
	post(t, c.page+"queues/orders/send", "body=x")
	time.Sleep(time.Second) // longer than a change takes
	b.shows(`Times is "many"; it must be a number`)
	b.click(`//a[text()="Back"]`, "Queues")

	// A page that is held does not change until it goes on.
	do(b, chromedp.Click(chromedp.CSS("#hold")))
	b.shows("Resume updates")
	post(t, c.page+"queues/orders/send", "body=held")
	time.Sleep(time.Second) // longer than a change takes
	if text := do(b, chromedp.Evaluate[string](`document.querySelector("#q-orders td").textContent`)); text != "153" {
		t.Errorf("a held page has %s messages", text)
	}
	do(b, chromedp.Click(chromedp.CSS("#hold")))
	b.until("the new message", `document.querySelector("#q-orders td").textContent === "154"`)

	// The page comes back with the command.
	_ = c.Process.Kill()
	_ = c.Wait()
	b.shows("not live")
	start(t, args...)
	b.until("the new queue", `document.getElementById("state").textContent === "live" && document.querySelector("#q-orders td").textContent === "0"`)
}

func post(t *testing.T, url, form string) {
	t.Helper()
	answer, err := http.Post(url, "application/x-www-form-urlencoded", strings.NewReader(form))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %v: %v", url, answer, err)
	}
	_ = answer.Body.Close()
}

// With 10,000 messages the page is there within a second, and 1,000 events a second do not leave
// it behind: its last change is at most a second old.
func TestSQS_KeepsUp(t *testing.T) {
	c := start(t, "sqs", "--addr", "127.0.0.1:0", "--ui", "--queue", "orders")
	post(t, c.page+"queues/orders/send", "body=x&count=10000")
	b := open(t)
	b.open(c.page + "queues/orders")
	b.shows("10000 messages.")
	b.until("a paint", `performance.getEntriesByName("first-contentful-paint").length > 0`)
	paint := do(b, chromedp.Evaluate[float64](`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	t.Logf("first paint after %.0f ms", paint)
	if paint > 1000 {
		t.Errorf("the first paint took %.0f ms", paint)
	}
	begun, sent, worst := time.Now(), 10_000, time.Duration(0)
	before := do(b, chromedp.Evaluate[float64](`performance.memory.usedJSHeapSize`))
	for time.Since(begun) < 30*time.Second {
		post(t, c.page+"queues/orders/send", "body=x&count=1000")
		sent += 1000
		at := time.Now()
		b.until("all messages", fmt.Sprintf(`document.body.innerText.includes("%d messages.")`, sent))
		worst = max(worst, time.Since(at))
		if rest := time.Second - time.Since(at); rest > 0 {
			time.Sleep(rest)
		}
	}
	t.Logf("%d messages, at most %s behind", sent, worst)
	if worst > 2*time.Second { // the machine does other work as well
		t.Errorf("the page was %s behind", worst)
	}
	after := do(b, chromedp.Evaluate[float64](`performance.memory.usedJSHeapSize`))
	if after > before+50e6 {
		t.Errorf("the page's memory grew from %.0f to %.0f bytes", before, after)
	}
}
