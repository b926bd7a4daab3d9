package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// An SBOM in CycloneDX's JSON form, https://cyclonedx.org/docs/1.6/json/, as far as Go's
// linker knows it: the modules in the binary, their versions and hashes. It is made from
// the binary alone, so that the same binary always has the same SBOM.
type bom struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
	PURL     string    `json:"purl"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

func writeSBOM(binary, path string) (err error) {
	defer must.Return(&err)
	info := must.Get(buildinfo.ReadFile(binary))
	text := must.Get(json.MarshalIndent(describe(info, must.Get(sha256File(binary))), "", "  "))
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func describe(info *debug.BuildInfo, sum string) bom {
	list := bom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			list.Metadata.Timestamp = s.Value
		}
	}
	list.Metadata.Component = module("application", info.Main.Path, info.Main.Version)
	list.Metadata.Component.Hashes = []hash{{"SHA-256", sum}}
	var own license
	own.License.ID = "Apache-2.0"
	list.Metadata.Component.Licenses = []license{own}

	list.Components = []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			must.Failf("%s is replaced by %s: a release has no replaced modules", m.Path, m.Replace.Path)
		}
		c := module("library", m.Path, m.Version)
		if encoded, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			// What go.sum has, which is a SHA-256 of the hashes of the module's files.
			c.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", must.Get(base64.StdEncoding.DecodeString(encoded)))}}
		}
		list.Components = append(list.Components, c)
	}
	return list
}

// module is a component whose name in the world is a package URL,
// https://github.com/package-url/purl-spec. In one, the + of a version is escaped.
func module(kind, path, version string) component {
	purl := "pkg:golang/" + path
	if version != "" && version != "(devel)" {
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}
