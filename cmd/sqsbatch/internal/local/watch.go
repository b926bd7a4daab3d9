package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settled is how long the files are left alone before a build: editors write several.
const settled = 200 * time.Millisecond

// A watcher builds the function when a file of its packages changes.
type watcher struct {
	*stack
	say     func(line string)
	files   *fsnotify.Watcher
	builds  int
	rebuilt chan string // the path of the program, which replaces one that was not taken
}

// newWatcher watches the folders of the function's packages in this module, and those of local
// modules.
func (s *stack) newWatcher(say func(string)) (*watcher, error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("--watch: %w", err)
	}
	w := &watcher{stack: s, say: say, files: files, rebuilt: make(chan string, 1)}
	if err := w.follow(); err != nil {
		_ = files.Close()
		return nil, err
	}
	return w, nil
}

// follow watches the folders that the package has now.
func (w *watcher) follow() error {
	dirs := slices.Clone(w.pkg.Dirs)
	if path := w.template.Path; path != "" {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		if err := w.files.Add(dir); err != nil {
			return fmt.Errorf("--watch: %s: %w", dir, err)
		}
	}
	return nil
}

// watch builds after changes until ctx ends.
func (w *watcher) watch(ctx context.Context) {
	defer w.files.Close()
	for ctx.Err() == nil {
		select {
		case e := <-w.files.Events:
			if w.isTemplate(e.Name) {
				w.say(w.template.Path + " has changed: start the command again to use its settings")
				w.drain(ctx)
			} else if isSource(e.Name) {
				w.drain(ctx)
				w.build(ctx)
			}
		case err := <-w.files.Errors:
			w.say("--watch: " + err.Error())
		case <-ctx.Done():
		}
	}
}

// isSource reports whether a file may be a part of the program. Editors write others.
func isSource(path string) bool {
	name := filepath.Base(path)
	return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") && !strings.HasSuffix(name, "_test.go") && name != "4913"
}

func (w *watcher) isTemplate(path string) bool {
	a, err := os.Stat(path)
	b, errTemplate := os.Stat(w.template.Path)
	return err == nil && errTemplate == nil && os.SameFile(a, b)
}

// drain waits until no file changes any more.
func (w *watcher) drain(ctx context.Context) {
	for {
		select {
		case <-w.files.Events:
		case <-time.After(settled):
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *watcher) build(ctx context.Context) {
	w.say("building " + w.pkgName + " again")
	pkg, err := w.builder.Find(ctx, w.pkgName)
	if err == nil {
		w.pkg = pkg
		err = w.follow()
	}
	binary := ""
	if err == nil {
		w.builds++
		binary, err = w.builder.Build(ctx, pkg, filepath.Join(w.dir, strconv.Itoa(w.builds)))
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.say(err.Error() + "\nthe function that was built before goes on")
		return
	}
	select {
	case <-w.rebuilt:
	default:
	}
	w.rebuilt <- binary
}

// run runs the function until ctx ends, and starts it anew after each build, once the records in
// flight are finished. If it cannot start, it waits for the next build.
func (w *watcher) run(ctx, kill context.Context, run func(ctx, kill context.Context) error) error {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { w.watch(watching) })
	defer watch.Wait()
	defer stop()
	for {
		binary, err := w.runOnce(ctx, kill, run)
		if ctx.Err() != nil {
			return err
		}
		if binary == "" {
			w.say(fmt.Sprintf("%v\nit is started again once a file changes", err))
			select {
			case binary = <-w.rebuilt:
			case <-ctx.Done():
				return nil
			}
		}
		w.binary = binary
		if w.deploy != nil {
			if err := w.deploy(); err != nil {
				return err
			}
		}
		w.say("the function that was built now runs")
	}
}

// runOnce runs the function until the next build, whose program it returns. It returns "" if the
// function ends before.
func (w *watcher) runOnce(ctx, kill context.Context, run func(ctx, kill context.Context) error) (binary string, err error) {
	ctx, stop := context.WithCancel(ctx)
	var next sync.WaitGroup
	next.Go(func() {
		select {
		case binary = <-w.rebuilt:
			stop()
		case <-ctx.Done():
		}
	})
	err = run(ctx, kill)
	stop()
	next.Wait()
	return binary, err
}
