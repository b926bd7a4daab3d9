package docpage_test

import (
	"encoding/json"
	"fmt"
	"go/format"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// A codeBlock is one of a document.
type codeBlock struct {
	page, language, text string
	line                 int
	file                 bool // it shows a file, which TestFiles_AreShownAsTheyAre compares
}

var (
	fence      = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")
	fileMarker = regexp.MustCompile(`<!-- file: \S+ -->\n$`)
)

// codeBlocks are those of README.md, CONTRIBUTING.md and the pages in docs, in some languages.
func codeBlocks(t *testing.T, languages ...string) (list []codeBlock) {
	t.Helper()
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "README.md" && name != "CONTRIBUTING.md" && !strings.HasPrefix(name, "docs/") {
			continue
		}
		text := docpage.Read(t, all[name])
		for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
			if language := text[at[2]:at[3]]; slices.Contains(languages, language) {
				list = append(list, codeBlock{name, language, text[at[4]:at[5]], 1 + strings.Count(text[:at[0]], "\n"), fileMarker.MatchString(text[:at[0]])})
			}
		}
	}
	if len(list) == 0 {
		t.Fatal("no blocks: the search itself is wrong")
	}
	return list
}

// Blocks of Go are files, declarations or statements, formatted as gofmt does it.
func TestGoBlocks_AreFormatted(t *testing.T) {
	for _, b := range codeBlocks(t, "go") {
		if want, err := format.Source([]byte(b.text)); err != nil || string(want) != b.text {
			t.Errorf("%s:%d: gofmt would change it to %s (%v)", b.page, b.line, want, err)
		}
	}
}

// Blocks of JSON and YAML are that. JSON may be several values, such as lines of a log.
func TestDataBlocks_CanBeRead(t *testing.T) {
	for _, b := range codeBlocks(t, "json", "yaml") {
		if b.language == "yaml" {
			var value any
			if err := yaml.Unmarshal([]byte(b.text), &value); err != nil {
				t.Errorf("%s:%d: %v", b.page, b.line, err)
			}
			continue
		}
		for d := json.NewDecoder(strings.NewReader(b.text)); ; {
			var value any
			if err := d.Decode(&value); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s:%d: %v", b.page, b.line, err)
				break
			}
		}
	}
}

// A program is what a block needs to be compiled.
type program struct {
	page, begins string // the block
	imports      string
	rest         string // what else the package has
	signature    string // of a function whose body the block is; "" for a block of declarations, or a file
	uses         string // after the body
}

const orders = "type Order struct{ ID string }\n"

var programs = []program{
	{"CONTRIBUTING.md", "func TestRetryAfter", `"context"; "errors"; "testing"; "time"; "M/batch"; "M/sqstest"`, "", "", ""},
	{"README.md", "package main", `"context"; "errors"`, orders + "func ship(context.Context, Order) error { return nil }\nvar ErrUnknownSKU, ErrRateLimited = errors.New(``), errors.New(``)\n", "", ""},
	{"docs/containers.md", "handler.RunWith", `"context"; "time"; "M/batch"; "M/handler"`, "type Report struct{}\nfunc makeReport(context.Context, Report) error { return nil }\n", "func _()", ""},
	{"docs/combining.md", "h := batch.Chain(", `"context"; "github.com/sony/gobreaker/v2"; "golang.org/x/time/rate"; "M/batch"; "M/handler"; "M/idempotency"; "M/middleware/breaker"; "M/middleware/ratelimit"; "M/payload/encoded"; "M/payload/s3payload"; "M/sender"`, orders + "func shipOrder(context.Context, Order) error { return nil }\n", "func _(store idempotency.Store, claims idempotency.Config, mails *sender.Sender, settings gobreaker.Settings, limiter *rate.Limiter, bodies s3payload.Config)", ""},
	{"docs/combining.md", "err := store.InTx", `"context"; "database/sql"; "M/idempotency/sqlstore"; "M/sender"`, orders + "func ship(context.Context, *sql.Tx, Order) error { return nil }\n", "func _(ctx context.Context, store *sqlstore.Store, mails *sender.Sender, order, mail Order)", "_ = err"},
	{"docs/functions.md", "handler.Run(router", `"context"; "M/batch"; "M/handler"; "M/router"`, orders + "func shipOrder(context.Context, Order) error { return nil }\nfunc refund(context.Context, Order) error { return nil }\n", "func _()", ""},
	{"docs/functions.md", "handler.Run(bulk", `"context"; "M/bulk"; "M/handler"`, orders + "func insertOrders(context.Context, []bulk.Item[Order]) error { return nil }\n", "func _()", ""},
	{"docs/idempotency.md", "store := dynamostore", `"context"; "github.com/aws/aws-sdk-go-v2/aws"; "github.com/aws/aws-sdk-go-v2/service/dynamodb"; "M/batch"; "M/handler"; "M/idempotency"; "M/idempotency/dynamostore"`, orders + "func shipOrder(context.Context, Order) error { return nil }\n", "func _(cfg aws.Config)", ""},
	{"docs/idempotency.md", "shipOrder := ", `"context"; "database/sql"; "M/idempotency/sqlstore"`, orders, "func _(store *sqlstore.Store)", "_ = shipOrder"},
	{"docs/idempotency.md", "var config", `"context"; "M/idempotency"`, "type Request struct{}\ntype Quote struct{}\nfunc price(context.Context, Request) (Quote, error) { return Quote{}, nil }\nfunc reply(context.Context, Quote) error { return nil }\n", "", ""},
	{"docs/powertools.md", "store := ", `"context"; "github.com/aws/aws-sdk-go-v2/aws"; "github.com/aws/aws-sdk-go-v2/service/dynamodb"; "M/batch"; "M/handler"; "M/idempotency"; "M/idempotency/dynamostore"`, orders + "func shipOrder(context.Context, Order) error { return nil }\n", "func _(cfg aws.Config)", ""},
	{"docs/lifecycles.md", "func main()", `"context"; "log/slog"; "os"; "os/signal"; "syscall"; "M/batch"; "M/handler"`, orders + "func ship(context.Context, Order) error { return nil }\n", "", ""},
	{"docs/lifecycles.md", "p, err := handler.NewPoller", `"context"; "M/batch"; "M/handler"`, orders + "func ship(context.Context, Order) error { return nil }\n", "func _(ctx context.Context)", "_ = err"},
	{"docs/observability/cloudwatch.md", "handler.RunWith", `"context"; "M/batch"; "M/handler"; "M/telemetry/cloudwatch"`, orders + "func shipOrder(context.Context, Order) error { return nil }\n", "func _()", ""},
	{"docs/observability/emf.md", "handler.RunWith", `"context"; "M/batch"; "M/handler"; "M/telemetry/emf"`, orders + "func shipOrder(context.Context, Order) error { return nil }\n", "func _()", ""},
	{"docs/observability/prometheus.md", "metrics := ", `"context"; "net/http"; "M/batch"; "M/handler"; "M/telemetry/prometheus"`, orders + "func shipOrder(context.Context, Order) error { return nil }\n", "func _()", ""},
	{"docs/several-queues.md", "handler.RunWith(handler.Queues", `"context"; "os"; "time"; "M/batch"; "M/handler"`, orders + "func ship(context.Context, Order) error { return nil }\nvar refund, mail, report = ship, ship, ship\n", "func _()", ""},
	{"docs/request-response.md", "client, err := reply", `"context"; "github.com/aws/aws-sdk-go-v2/service/sqs"; "M/reply"`, "type Request struct{ Product string }\ntype Quote struct{}\n", "func _(ctx context.Context, sqsClient *sqs.Client) error", "_ = quote; return err"},
	{"docs/request-response.md", "handler.Run(reply.Handler(func", `"context"; "errors"; "M/batch"; "M/handler"; "M/reply"`, "type Request struct{ Product string }\ntype Quote struct{ Product string; Cents int }\nvar prices map[string]int\n", "func _()", ""},
	{"docs/request-response.md", "handler.Run(reply.Handler(quote", `"context"; "M/batch"; "M/handler"; "M/idempotency"; "M/reply"`, "type Request struct{}\ntype Quote struct{}\nfunc quote(context.Context, Request) (Quote, error) { return Quote{}, nil }\n", "func _(store idempotency.Store)", ""},
	{"docs/sending.md", "s, err := sender.New(client", `"context"; "github.com/aws/aws-sdk-go-v2/service/sqs"; "M/sender"`, orders, "func _(ctx context.Context, client *sqs.Client, order Order) error", ""},
	{"docs/sending.md", "ship := ", `"context"; "M/batch"; "M/handler"; "M/sender"`, orders + "type Mail struct{ To, Text string }\n", "func _(mails *sender.Sender)", ""},
	{"docs/sending.md", "func insertOrders", `"context"; "M/bulk"; "M/sender"`, orders + "var mails *sender.Sender\n", "", ""},
	{"docs/sending.md", "traces := sqsotel.New", `"github.com/aws/aws-sdk-go-v2/service/sqs"; "M/sender"; sqsotel "M/telemetry/otel"`, "", "func _(client *sqs.Client)", "_, _ = s, err"},
	{"docs/sending.md", "store, err := s3payload", `"context"; "github.com/aws/aws-sdk-go-v2/service/sqs"; "M/payload/encoded"; "M/payload/s3payload"; "M/sender"`, "", "func _(client *sqs.Client) error", "_ = s; return err"},
	{"docs/observability/traces.md", "attributes, err :=", `"context"; "github.com/aws/aws-sdk-go-v2/service/sqs/types"; sqsotel "M/telemetry/otel"`, "", "func _(ctx context.Context, attributes map[string]types.MessageAttributeValue)", "_, _ = attributes, err"},
}

// compiledElsewhere are blocks that show a part of a file, which another test compares, and
// the code that the pages of docs/migrating call today's, which is made up.
func compiledElsewhere(b codeBlock) bool {
	return b.file || strings.HasPrefix(b.page, "docs/migrating/") ||
		b.page == "docs/observability/traces.md" && strings.HasPrefix(b.text, "traces := ")
}

// source are the files of a package with the block.
func (p program) source(block string) map[string]string {
	imports := "import (" + strings.ReplaceAll(p.imports, `"M/`, `"github.com/sqsbatch/sqsbatch/`) + ")\n"
	switch {
	case strings.HasPrefix(block, "package "):
		_, block, _ = strings.Cut(block, "\n") // a package main would be linked, too
		return map[string]string{"main.go": "package page\n" + block, "rest.go": "package page\n" + imports + p.rest}
	case p.signature != "":
		return map[string]string{"page.go": "package page\n" + imports + p.rest + p.signature + " {\n" + block + "\n" + p.uses + "\n}\n"}
	default:
		return map[string]string{"page.go": "package page\n" + imports + p.rest + block}
	}
}

// Blocks of Go compile, with the names that their text explains.
func TestGoBlocks_Compile(t *testing.T) {
	folder := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]string{} // so the packages are in this module, and not in its folder
	var packages []string
	left := slices.Clone(programs)
	for i, b := range codeBlocks(t, "go") {
		if compiledElsewhere(b) {
			continue
		}
		at := slices.IndexFunc(left, func(p program) bool { return p.page == b.page && strings.HasPrefix(b.text, p.begins) })
		if at < 0 {
			t.Errorf("%s:%d: add what this needs to be compiled, in code_test.go", b.page, b.line)
			continue
		}
		name := fmt.Sprintf("block%d", i)
		packages = append(packages, "./"+name)
		for file, text := range left[at].source(b.text) {
			path := filepath.Join(folder, name+file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(here, name, file)] = path
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, p := range left {
		t.Errorf("%s has no block of Go that begins with %s", p.page, p.begins)
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", file}, packages...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
