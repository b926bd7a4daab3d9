// Package javaserver runs servers that are written in Java, for checks: of a known version,
// fetched by Maven into the user's cache directory on the first use, and on a free loopback
// port. Packages elasticmq and dynamodblocal each have one.
package javaserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/await"
	"github.com/sqsbatch/sqsbatch/test/internal/cached"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Program is a server that is written in Java.
type Program struct {
	// ID names it in the cache and before errors, Name in sentences.
	ID, Name string
	// Group, Artifact and Version are what it is called in Maven Central.
	Group, Artifact, Version string
	// Arguments are those of java. libs is the directory with the program's jars.
	Arguments func(libs string) []string
	// Port finds the port in a line that the program prints.
	Port *regexp.Regexp
	// Header is that of a request which the program answers when it is ready. Its body is {}.
	Header map[string]string
}

// Server is a running Program.
type Server struct {
	// URL is the endpoint for clients.
	URL string

	process *subprocess.Process
}

// Start starts a program and waits until it answers. The error says what to install.
func Start(ctx context.Context, p Program) (*Server, error) {
	command, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%s: java is not on the PATH: install a Java runtime (Debian: apt-get install default-jre-headless): %w", p.ID, err)
	}
	libs, err := p.install(ctx)
	if err != nil {
		return nil, err
	}
	var port atomic.Value
	s := &Server{}
	if s.process, err = subprocess.Start(exec.Command(command, p.Arguments(libs)...), func(_, text string) {
		if found := p.Port.FindStringSubmatch(text); found != nil {
			port.CompareAndSwap(nil, found[1])
		}
	}); err != nil {
		return nil, fmt.Errorf("%s: start java: %w", p.ID, err)
	}
	err = await.Ready(ctx, s.process, func() error {
		number, said := port.Load().(string)
		if !said {
			return errors.New("it has not said its port")
		}
		s.URL = "http://127.0.0.1:" + number
		return p.answers(ctx, s.URL)
	})
	if err != nil {
		s.process.Kill()
		return nil, fmt.Errorf("%s does not answer: %w", p.ID, err)
	}
	return s, nil
}

func (p *Program) answers(ctx context.Context, url string) (err error) {
	defer must.Return(&err)
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}")))
	for name, value := range p.Header {
		req.Header.Set(name, value)
	}
	res := must.Get(http.DefaultClient.Do(req))
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}

// Stop ends the process. It may be called more than once.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.process.Stop(ctx)
}

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
