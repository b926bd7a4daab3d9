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
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// install returns the directory with ElasticMQ's jars, after putting them there
// if they are not there yet.
func install(ctx context.Context) (libs string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home: a build container, say
	}
	parent := filepath.Join(cache, "sqsbatch")
	libs = filepath.Join(parent, "elasticmq-"+Version)
	if _, err := os.Stat(libs); err == nil {
		return libs, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("elasticmq: mvn is not on the PATH: install Maven (Debian: apt-get install maven), it fetches ElasticMQ %s: %w", Version, err)
	}
	fmt.Fprintf(os.Stderr, "fetching ElasticMQ %s into %s\n", Version, libs)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("elasticmq: %w", err)
	}
	// A directory of its own, renamed when it is complete: an installation that
	// was interrupted is done again, and two at a time do not meet.
	work, err := os.MkdirTemp(parent, "elasticmq-part-")
	if err != nil {
		return "", fmt.Errorf("elasticmq: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), []byte(pom), 0o644); err != nil {
		return "", fmt.Errorf("elasticmq: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=libs")
	cmd.Dir = work
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("elasticmq: fetch ElasticMQ %s with Maven: %w\n%s", Version, err, out.Bytes())
	}
	if err := os.Rename(filepath.Join(work, "libs"), libs); err != nil {
		if _, late := os.Stat(libs); late == nil {
			return libs, nil // someone else was faster
		}
		return "", fmt.Errorf("elasticmq: %w", err)
	}
	return libs, nil
}
