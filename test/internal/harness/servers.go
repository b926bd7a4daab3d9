package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// Server is a server in a process of its own, on a free loopback port. Ctrl-C does not reach it.
type Server struct {
	// URL is the endpoint for clients.
	URL string

	process *subprocess.Process
	quiet   bool // what it writes to standard error, and how it ends, matter

	mu     sync.Mutex
	said   string // the endpoint by its output
	stderr []string
}

// start starts a server and waits until it answers. endpoint finds the URL in a line that the
// server prints, and returns "" for other lines.
func (s *Server) start(ctx context.Context, cmd *exec.Cmd, endpoint func(line string) string, answers func(url string) error) (err error) {
	s.process, err = subprocess.Start(cmd, func(stream, line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.quiet && stream != "stdout" {
			s.stderr = append(s.stderr, line)
		} else if s.said == "" {
			s.said = endpoint(line)
		}
	})
	if err != nil {
		return err
	}
	err = Ready(ctx, s.process, func() error {
		s.mu.Lock()
		s.URL = s.said
		s.mu.Unlock()
		if s.URL == "" {
			return errors.New("it has not said its port")
		}
		return answers(s.URL)
	})
	if err != nil {
		s.process.Kill()
	}
	return err
}

// Stop ends the process, once or more often. It fails if `sqsbatch sqs` had complained.
func (s *Server) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.process.Stop(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.Err(); s.quiet && (err != nil || len(s.stderr) > 0) {
		return fmt.Errorf("sqsbatch sqs ended with %v: %q", err, s.stderr)
	}
	return nil
}

// Kill ends the process at once.
func (s *Server) Kill() { s.process.Kill() }

// StartSQS starts `sqsbatch sqs`, of that program, as users do.
func StartSQS(ctx context.Context, program string) (*Server, error) {
	s := &Server{quiet: true}
	err := s.start(ctx, exec.Command(program, "sqs", "--addr", "127.0.0.1:0", "--output", "json"), func(line string) string {
		var ready struct{ Type, Endpoint string }
		_ = json.Unmarshal([]byte(line), &ready) // or it never becomes ready
		if ready.Type != "ready" {
			return ""
		}
		return ready.Endpoint
	}, func(string) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("sqsbatch sqs did not start: %w", err)
	}
	return s, nil
}

// javaProgram is a server that is written in Java, of a known version: Maven fetches it into the
// user's cache directory on the first use.
type javaProgram struct {
	// id names it in the cache and before errors, name in sentences.
	id, name string
	// group, artifact and version are what it is called in Maven Central.
	group, artifact, version string
	// arguments are those of java. libs is the folder with the program's jars.
	arguments func(libs string) []string
	// port finds the port in a line that the program prints.
	port *regexp.Regexp
	// header is that of a request which the program answers when it is ready. Its body is {}.
	header map[string]string
}

// StartElasticMQ starts ElasticMQ with the emulator's region and account. It needs Java 11 or newer,
// and for the first use Maven and Maven Central: the error says what to install.
func StartElasticMQ(ctx context.Context) (*Server, error) {
	return javaProgram{
		id: "elasticmq", name: "ElasticMQ",
		group: "org.elasticmq", artifact: "elasticmq-server_2.13", version: "1.7.1",
		arguments: func(libs string) []string {
			return []string{
				"-Drest-sqs.bind-hostname=127.0.0.1",
				"-Drest-sqs.bind-port=0", // a free one; it says which
				"-Dgenerate-node-address=true",
				"-Drest-stats.enabled=false",
				"-Daws.region=us-east-1",
				"-Daws.accountId=000000000000",
				"-cp", filepath.Join(libs, "*"), "org.elasticmq.server.Main",
			}
		},
		port:   regexp.MustCompile(`bind address 127\.0\.0\.1:([0-9]+)`),
		header: map[string]string{"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"},
	}.start(ctx)
}

// StartDynamoDB starts AWS's DynamoDB Local at an address of FreeAddress. Its tables are in the
// folder, or in memory if that is "". It needs Java 17 or newer, and for the first use Maven and
// Maven Central: the error says what to install.
func StartDynamoDB(ctx context.Context, address, folder string) (*Server, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	data := []string{"-inMemory"}
	if folder != "" {
		data = []string{"-dbPath", folder}
	}
	return javaProgram{
		id: "dynamodblocal", name: "DynamoDB Local",
		group: "com.amazonaws", artifact: "DynamoDBLocal", version: "2.6.1",
		arguments: func(libs string) []string {
			return append([]string{
				"-Djava.library.path=" + libs, "-Dsqlite4java.library.path=" + libs,
				"-cp", filepath.Join(libs, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
				"-sharedDb", "-disableTelemetry", "-port", port,
			}, data...)
		},
		port: regexp.MustCompile(`^Port:\s+([0-9]+)$`),
		header: map[string]string{
			"Content-Type":  "application/x-amz-json-1.0",
			"X-Amz-Target":  "DynamoDB_20120810.ListTables",
			"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
		},
	}.start(ctx)
}

func (p javaProgram) start(ctx context.Context) (*Server, error) {
	command, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%s: java is not on the PATH: install a Java runtime (Debian: apt-get install default-jre-headless): %w", p.id, err)
	}
	libs, err := p.install(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{}
	err = s.start(ctx, exec.Command(command, p.arguments(libs)...), func(line string) string {
		if found := p.port.FindStringSubmatch(line); found != nil {
			return "http://127.0.0.1:" + found[1]
		}
		return ""
	}, func(url string) error { return p.answers(ctx, url) })
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", p.id, err)
	}
	return s, nil
}

func (p javaProgram) answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	for name, value := range p.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
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

// install returns the folder with the program's jars, which it fills once.
func (p javaProgram) install(ctx context.Context) (libs string, err error) {
	return Cached(p.id+"-"+p.version, func(dir string) error {
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return fmt.Errorf("mvn is not on the PATH: install Maven (Debian: apt-get install maven), it fetches %s: %w", p.name, err)
		}
		file := filepath.Join(dir, "pom.xml") // it stays there, next to the jars
		if err := os.WriteFile(file, fmt.Appendf(nil, pom, p.id, p.group, p.artifact, p.version), 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "--quiet", "--file", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fetch it with Maven: %w\n%s", err, out)
		}
		return nil
	})
}
