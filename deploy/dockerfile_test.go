package deploy_test

import (
	"os"
	"regexp"
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
