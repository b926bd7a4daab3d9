// Package dynamodblocal gives the checks a server of DynamoDB's interface: AWS's DynamoDB
// Local of a known version, fetched by Maven into the user's cache directory on the first
// use, and run on a free loopback port with all tables in memory:
//
//	server, err := dynamodblocal.Start(ctx)
//	if err != nil { … }
//	defer server.Stop()
//	fmt.Println(server.URL)
//
// It needs Java 17 or newer, and for the first use Maven and Maven Central.
package dynamodblocal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/cached"
)

// Version is the release that the checks were written against.
const Version = "2.6.1"

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>dynamodblocal</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>com.amazonaws</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>` + Version + `</version>
    </dependency>
  </dependencies>
</project>
`

// install returns the directory with the jars and SQLite's libraries, which it fills once.
func install(ctx context.Context) (libs string, err error) {
	return cached.Dir("dynamodblocal-"+Version, func(dir string) error {
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return fmt.Errorf("mvn is not on the PATH: install Maven (Debian: apt-get install maven), it fetches DynamoDB Local: %w", err)
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
