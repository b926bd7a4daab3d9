package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
)

// The page names the versions that are tried, Maven has its own file for them.
func TestVersions(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for file, want := range map[string][]string{
		filepath.Join("springcloud", "pom.xml"): {"<version>" + springCloudVersion + "</version>"},
		filepath.Join(root, "docs", "emulators.md"): {
			"| boto3 | " + awscli.Boto3 + "; " + oldBoto3 + " ",
			"| AWS CLI | " + awscli.Version + " |",
			"| " + sqsConsumerVersion + ", " + sqsProducerVersion + " |",
			"| " + celeryVersion + ", " + kombuVersion + " |",
			"| Spring Cloud AWS (Java) | " + springCloudVersion + " |",
		},
	} {
		text := docpage.Read(t, file)
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("%s does not say %q", file, s)
			}
		}
	}
}
