package deploy_test

import (
	"regexp"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

// user is who the program runs as, everywhere.
const user = "65532"

func TestImageHasTheGoOfTheModule(t *testing.T) {
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(docpage.Read(t, "../go.mod"))
	image := regexp.MustCompile(`(?m)^ARG GO_VERSION=(\S+)$`).FindStringSubmatch(docpage.Read(t, "../Dockerfile"))
	if module == nil || image == nil || module[1] != image[1] {
		t.Errorf("go.mod has %s, Dockerfile %s", module, image)
	}
}
