// Command release makes the files of a release without goreleaser, and does for
// goreleaser what it does not do itself. Both give the same binaries, byte for byte:
// `.ci/run goreleaser` compares them.
//
//	go run ./test/release [-o dist]       archives, SBOMs and checksums.txt
//	go run ./test/release docs            completions and man pages, into completions and man
//	go run ./test/release sbom BINARY F   the modules of a binary as CycloneDX, into the file F
//	go run ./test/release notes v0.1.0    the section of CHANGELOG.md
//	go run ./test/release licences        those of what the module in this folder uses; one that is not allowed is an error
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("release: ", err)
	}
}

func run(args []string) (err error) {
	defer must.Return(&err)
	switch {
	case len(args) == 1 && args[0] == "docs":
		_, when := must.Get2(head())
		must.Get(writeDocs(".", ".", when))
		return nil
	case len(args) == 3 && args[0] == "sbom":
		return writeSBOM(args[1], args[2])
	case len(args) == 1 && args[0] == "licences":
		return printLicences()
	case len(args) == 2 && args[0] == "notes":
		text := must.Get(os.ReadFile("CHANGELOG.md"))
		must.Get(fmt.Print(must.Get(notes(string(text), args[1]))))
		return nil
	}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("o", "dist", "the folder to write; it is emptied first")
	must.Do(flags.Parse(args))
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: there are docs, licences, sbom BINARY FILE and notes VERSION", flags.Args())
	}
	return release(*out)
}

// release builds what HEAD of the working tree is: the tag's version, or a snapshot.
func release(out string) (err error) {
	defer must.Return(&err)
	version, when := must.Get2(head())
	must.Do(os.RemoveAll(out))
	docs := filepath.Join(out, "docs")
	files := must.Get(writeDocs(".", docs, when))
	d := distribution{Root: ".", Out: out, Version: version, Time: when, Docs: docs, DocFiles: files}
	for _, t := range targets {
		if err := d.add(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return writeChecksums(out)
}

// head returns the version of the tag at HEAD, without its v, and the time of the commit.
// Without a tag the version is "snapshot".
func head() (version string, when time.Time, err error) {
	defer must.Return(&err)
	seconds := must.Get(git("log", "-1", "--format=%ct"))
	unix := must.Get(strconv.ParseInt(seconds, 10, 64))
	version = "snapshot"
	if tag, err := git("describe", "--tags", "--exact-match", "--match=v[0-9]*"); err == nil {
		version = strings.TrimPrefix(tag, "v")
	}
	return version, time.Unix(unix, 0).UTC(), nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// notes is what CHANGELOG.md says about a version, without the heading: GitHub shows the
// tag there.
func notes(changelog, tag string) (string, error) {
	heading := "\n## [" + strings.TrimPrefix(tag, "v") + "]"
	_, section, found := strings.Cut(changelog, heading)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section%s: write it before the tag", strings.TrimPrefix(heading, "\n##"))
	}
	_, section, _ = strings.Cut(section, "\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing about %s", tag)
	}
	return section + "\n", nil
}
