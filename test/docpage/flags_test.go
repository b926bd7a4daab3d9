package docpage_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var (
	toolCommand = regexp.MustCompile("sqsbatch(?:@\\S+)? (local|sqs)\\b([^\n`]*)")
	toolFlag    = regexp.MustCompile(`(?:^|\s)(--[a-z-]+)`)
)

// Commands of sqsbatch that documents name have flags that there are. The pages of docs/tools
// are made of the flags themselves.
func TestCommands_HaveTheseFlags(t *testing.T) {
	commands := 0
	for name, path := range pages(t) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "docs/tools/") {
			continue
		}
		text := strings.ReplaceAll(docpage.Read(t, path), "\\\n", " ") // lines that go on
		for _, m := range toolCommand.FindAllStringSubmatch(text, -1) {
			commands++
			help := docpage.Read(t, "../../docs/tools/"+m[1]+".md")
			given, _, _ := strings.Cut(m[2], " #")
			for _, flag := range toolFlag.FindAllStringSubmatch(given, -1) {
				if !strings.Contains(help, "`"+flag[1]+" ") && !strings.Contains(help, "`"+flag[1]+"`") && !strings.Contains(help, "`"+flag[1]+"[=") {
					t.Errorf("%s: sqsbatch %s has no flag %s", name, m[1], flag[1])
				}
			}
		}
	}
	if commands < 20 {
		t.Errorf("%d commands: the search itself is wrong", commands)
	}
}
