package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// user is who the program runs as, everywhere.
const user = "65532"

func dockerfile(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestImageHasTheGoOfTheModule(t *testing.T) {
	b, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(b)
	image := regexp.MustCompile(`(?m)^ARG GO_VERSION=(\S+)$`).FindStringSubmatch(dockerfile(t))
	if module == nil || image == nil || string(module[1]) != image[1] {
		t.Errorf("go.mod has %s, Dockerfile %s", module, image)
	}
}

func TestImageStopsOnSIGTERMAndIsNotRoot(t *testing.T) {
	_, final, ok := strings.Cut(dockerfile(t), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not from scratch")
	}
	for _, line := range []string{"USER " + user + ":" + user, "STOPSIGNAL SIGTERM", `ENTRYPOINT ["/app"]`} {
		if !strings.Contains("\n"+final, "\n"+line+"\n") {
			t.Errorf("the last stage does not say %s", line)
		}
	}
}

func TestImageIsBuiltFromThePackageThatIsThere(t *testing.T) {
	name := regexp.MustCompile(`(?m)^ARG PACKAGE=\./(\S+)$`).FindStringSubmatch(dockerfile(t))
	if name == nil {
		t.Fatal("no PACKAGE")
	}
	if _, err := os.Stat("../" + name[1] + "/main.go"); err != nil {
		t.Error(err)
	}
}
