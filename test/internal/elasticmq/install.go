// Package elasticmq gives the checks a second SQS server to compare with:
// ElasticMQ of a known version, fetched by Maven into the user's cache directory
// on the first use, and run on a free loopback port:
//
//	server, err := elasticmq.Start(ctx)
//	if err != nil { … }
//	defer server.Stop()
//	fmt.Println(server.URL)
//
// It needs Java 11 or newer, and for the first use Maven and Maven Central.
package elasticmq

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/cached"
)

// Version is the release that the checks were written against.
const Version = "1.7.1"

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>elasticmq</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId>
      <artifactId>elasticmq-server_2.13</artifactId>
      <version>` + Version + `</version>
    </dependency>
  </dependencies>
</project>
`

// install returns the directory with ElasticMQ's jars, which it fills once.
func install(ctx context.Context) (libs string, err error) {
	return cached.Dir("elasticmq-"+Version, func(dir string) error {
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return fmt.Errorf("mvn is not on the PATH: install Maven (Debian: apt-get install maven), it fetches ElasticMQ: %w", err)
		}
		file := filepath.Join(dir, "pom.xml") // it stays there, next to the jars
		if err := os.WriteFile(file, []byte(pom), 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "--quiet", "--file", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fetch it with Maven: %w\n%s", err, out)
		}
		return nil
	})
}
