// Package javaserver runs servers that are written in Java, for checks: of a known version,
// fetched by Maven into the user's cache directory on the first use, and on a free loopback
// port. Packages elasticmq and dynamodblocal each have one.
package javaserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/internal/cached"
)

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>%s</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>%s</groupId>
      <artifactId>%s</artifactId>
      <version>%s</version>
    </dependency>
  </dependencies>
</project>
`

// install returns the directory with the program's jars, which it fills once.
func (p *Program) install(ctx context.Context) (libs string, err error) {
	return cached.Dir(p.ID+"-"+p.Version, func(dir string) error {
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return fmt.Errorf("mvn is not on the PATH: install Maven (Debian: apt-get install maven), it fetches %s: %w", p.Name, err)
		}
		file := filepath.Join(dir, "pom.xml") // it stays there, next to the jars
		if err := os.WriteFile(file, fmt.Appendf(nil, pom, p.ID, p.Group, p.Artifact, p.Version), 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "--quiet", "--file", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fetch it with Maven: %w\n%s", err, out)
		}
		return nil
	})
}
