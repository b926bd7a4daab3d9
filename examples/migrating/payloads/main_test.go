package main

import (
	"os"
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"} {
		_ = os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// Record 1 is not compressed, 4 is damaged, and 5 compressed by Brotli.
func TestCompressed(t *testing.T) {
	sample.Run(t, consumer, "shapes/gzip.json").Is(t, []int{4, 5},
		"shipped order=o-1 quantity=1 note=0", "shipped order=o-2 quantity=2 note=0", "shipped order=o-3 quantity=3 note=0")
}

// Records 2 and 3 are pointers of the libraries' two generations. 4 is one to an
// object that does not exist, 5 to a bucket of someone else's.
func TestInS3(t *testing.T) {
	sample.Run(t, consumer, "shapes/extended.json").Is(t, []int{4, 5},
		"shipped order=o-1 quantity=1 note=0", "shipped order=o-2 quantity=2 note=307200", "shipped order=o-3 quantity=3 note=307200")
}
