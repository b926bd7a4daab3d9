package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const (
	table  = "workers"
	orders = 40
	copies = 3 // of each order, which are messages of their own
	// millis is how long an order takes.
	millis = 400
	// killAfter is how many orders have ended before the kill. Of those that the killed worker
	// has begun, those after the first stuckAfter never end there: the kill meets them.
	killAfter, stuckAfter = 10, 4
	patience              = 4 * time.Minute
)

// kill has two workers handle orders that were sent several times, and kills one of them.
func (w *world) kill(ctx context.Context) (err error) {
	defer must.Return(&err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	program, tool := filepath.Join(w.stage.Tmp, "worker.exe"), filepath.Join(w.stage.Tmp, "sqsbatch.exe")
	must.Do(errors.Join(harness.Build(ctx, program, "./test/integration/dynamodb/worker"), harness.Build(ctx, tool, "./cmd/sqsbatch")))
	queues := must.Get(harness.StartSQS(ctx, tool))
	defer func() { err = errors.Join(err, queues.Stop()) }()
	w.createTable(ctx, table)
	client := harness.SQSClient(queues.URL)
	url := send(ctx, client)
	d := &diary{}
	var workers []*subprocess.Process
	for i, stuck := range []int{stuckAfter, orders} {
		cmd := exec.Command(program)
		cmd.Env = w.environment("AWS_ENDPOINT_URL_SQS="+queues.URL, "SQSBATCH_QUEUE_URL="+url, "TABLE="+table, fmt.Sprintf("STUCK_AFTER=%d", stuck))
		p := must.Get(subprocess.Start(cmd, func(_, text string) { d.line(i, text); fmt.Fprintf(w.stage.Log, "worker %d: %s\n", i, text) }))
		defer p.Kill()
		workers = append(workers, p)
		if err := harness.Until(ctx, patience, d.begins(i)); err != nil {
			return fmt.Errorf("%w\n%q", err, p.LastLines())
		}
	}
	if err := harness.Until(ctx, patience, d.getsOn); err != nil {
		return fmt.Errorf("%w\n%q", err, workers[0].LastLines())
	}
	workers[0].Kill()
	must.Do(harness.Until(ctx, patience, func() error { return harness.RequireEmpty(ctx, client, url) }))
	workers[1].Stop(ctx)
	return d.judge()
}

// createTable makes a table as the template does, if it is not there.
func (w *world) createTable(ctx context.Context, name string) {
	_, err := w.client().CreateTable(ctx, &awsdynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if _, there := errors.AsType[*types.ResourceInUseException](err); !there {
		must.Do(err)
	}
}

// client is one of DynamoDB Local.
func (w *world) client(options ...func(*awsdynamodb.Options)) *awsdynamodb.Client {
	return awsdynamodb.New(awsdynamodb.Options{Region: "us-east-1", BaseEndpoint: &w.url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}, options...)
}

// send sends each order several times, the copies far from each other and close together.
func send(ctx context.Context, client *awssqs.Client) (url string) {
	url = must.Get(harness.MakeQueue(ctx, client, "orders", map[string]string{"VisibilityTimeout": "5"}))
	for i := range orders * copies {
		id := i % orders // far
		if i%2 == 0 {
			id = i / copies // close
		}
		body := fmt.Sprintf(`{"ID":"%d","Millis":%d}`, id, millis)
		must.Get(client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}))
	}
	return url
}

// diary is what the workers print, in the order in which it came.
type diary struct {
	mu    sync.Mutex
	lines []entry
	ended int
}

type entry struct {
	worker    int
	event, id string
}

func (d *diary) line(worker int, text string) {
	event, rest, _ := strings.Cut(text, " ")
	if event == "completed" {
		var o struct{ ID string }
		_ = json.Unmarshal([]byte(rest), &o)
		rest = o.ID
	}
	if event != "begin" && event != "end" && event != "completed" {
		return // a line of the log
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, entry{worker, event, rest})
	if event == "end" {
		d.ended++
	}
}

// begins fails until a worker has begun more than stuckAfter orders.
func (d *diary) begins(worker int) func() error {
	return func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		n := 0
		for _, l := range d.lines {
			if l.worker == worker && l.event == "begin" {
				n++
			}
		}
		if n <= stuckAfter {
			return fmt.Errorf("worker %d has begun only %d orders", worker, n)
		}
		return nil
	}
}

// getsOn fails until so many orders have ended.
func (d *diary) getsOn() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended < killAfter {
		return fmt.Errorf("only %d orders have ended", d.ended)
	}
	return nil
}

// judge wants every order to be done, none to begin after its completion, and none to begin
// twice but for those that the killed worker had not completed.
func (d *diary) judge() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	begun, completed := map[string][]int{}, map[string]bool{}
	var errs []error
	cut := 0
	for _, l := range d.lines {
		switch l.event {
		case "begin":
			if completed[l.id] {
				errs = append(errs, fmt.Errorf("order %s is done again after its completion", l.id))
			}
			begun[l.id] = append(begun[l.id], l.worker)
		case "completed":
			completed[l.id] = true
		}
	}
	for id, workers := range begun {
		switch {
		case len(workers) == 2 && workers[0] == 0 && workers[1] == 1:
			cut++ // worker 0 was killed meanwhile
		case len(workers) != 1:
			errs = append(errs, fmt.Errorf("order %s was begun by workers %v", id, workers))
		}
	}
	if len(completed) != orders {
		errs = append(errs, fmt.Errorf("%d of %d orders were completed", len(completed), orders))
	}
	if cut == 0 {
		errs = append(errs, errors.New("the kill met no order"))
	}
	fmt.Printf("%d orders in %d messages: each was completed, none begun after that; %d were cut by the kill and done by the other worker\n", orders, orders*copies, cut)
	return errors.Join(errs...)
}
