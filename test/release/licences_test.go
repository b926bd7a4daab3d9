package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var update = flag.Bool("update", false, "write the table of docs/licences.md")

// notImported finds packages that users do not import.
var notImported = regexp.MustCompile(`^github.com/sqsbatch/sqsbatch/(cmd|examples|test)/|/internal/|\.test$|\]$`)

// A new dependency changes the page, so that someone sees its licence.
func TestLicences_AreAllowedAndOnThePage(t *testing.T) {
	packages, library, tools := map[string]listed{}, map[string]bool{}, map[string]bool{}
	for _, platform := range targets {
		if platform.Arch != "amd64" {
			continue
		}
		here, err := list(platform, "-test", "github.com/sqsbatch/sqsbatch/...")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range here {
			used := library
			switch {
			case p.ImportPath == tool:
				used = tools
			case p.Module == nil || !p.Module.Main || notImported.MatchString(p.ImportPath):
				continue
			}
			for _, path := range p.Deps {
				if module := here[path].Module; module != nil {
					used[module.Path] = true
				}
			}
		}
		maps.Copy(packages, here)
	}
	all, err := modules(packages)
	if err != nil {
		t.Fatal(err)
	}
	table := "| module | licence | library | tool |\n| --- | --- | --- | --- |\n"
	mark := map[bool]string{true: "yes"}
	required := readFile(t, "go.mod")
	for _, path := range slices.Sorted(maps.Keys(all)) {
		names, err := all[path].terms()
		if err != nil {
			t.Fatal(path, err)
		}
		if slices.Contains(names, testsOnly) && (library[path] || tools[path]) {
			t.Errorf("%s: %s is for tests only", path, testsOnly)
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", path, strings.Join(names, ", "), mark[library[path]], mark[tools[path]])
		required = strings.ReplaceAll(required, "\t"+path+" v", "")
	}
	if strings.Contains(required, "\t") {
		t.Errorf("no package is in these modules of go.mod, so their licences were not looked at: %q", required)
	}
	docpage.RequireSection(t, filepath.Join(root, "docs/licences.md"), "licences", table, *update)
}

// The licences of Go and of each module in the binary go with it, also those of code that a module has taken from elsewhere.
func TestThirdParty_HasTheTexts(t *testing.T) {
	text, err := thirdPartyText()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nGo go1", "github.com/aws/smithy-go v", "Apache License", "github.com/spf13/cobra v", "go.yaml.in/yaml/v3 v",
		"Redistribution and use in source and binary forms", ", internal/sync/singleflight/LICENSE\n", "\nuPlot 1.6.32, LICENSE\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it has no %q", want)
		}
	}
	if len(text) < 100_000 {
		t.Errorf("it has %d bytes", len(text))
	}
}

func TestTerms_OnlyAllowedOnesAreTaken(t *testing.T) {
	const mit = "The above copyright notice and this permission notice\nshall be included in all copies or substantial portions of the Software."
	for text, want := range map[string]string{
		mit: "MIT",
		mit + " Licensed under the Apache License, Version 2.0": "Apache-2.0, MIT",
		mit + "\n\"Commons Clause\" License Condition v1.0":     "",
		"GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3":          "",
		"Business Source License 1.1":                           "",
		"All rights reserved.":                                  "",
		"":                                                      "",
	} {
		names, err := termsOf(text)
		if got := strings.Join(names, ", "); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "NOTICE"), []byte(mit), 0o644); err != nil {
		t.Fatal(err)
	}
	if names, err := (licensed{dir: dir, files: map[string]bool{"NOTICE": true}}).terms(); err == nil {
		t.Errorf("a module without a licence has %q", names)
	}
}
