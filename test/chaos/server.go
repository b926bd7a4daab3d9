package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// server is an SQS server with a socket for each slot, and one for package sender. A restart loses nothing.
type server struct {
	state   *sqs.Server
	ledger  *ledger
	store   *store
	client  *awssqs.Client  // the driver's own calls meet no faults
	gates   [slots + 1]gate // the last one is of package sender
	serving sync.WaitGroup
}

// gate is one slot's socket.
type gate struct {
	address string
	process atomic.Int64
	http    *http.Server
}

func newServer(c sqs.Config, l *ledger) (*server, error) {
	s := &server{ledger: l, store: newStore(), state: sqs.New(c)}
	s.client = s.state.Client()
	for i := range s.gates {
		s.gates[i].address = "127.0.0.1:0"
	}
	return s, s.open()
}

// open listens, at the ports of before if there were any.
func (s *server) open() error {
	for i := range s.gates {
		g := &s.gates[i]
		listener, err := net.Listen("tcp", g.address)
		if err != nil {
			return fmt.Errorf("the server's socket for slot %d: %w", i, err)
		}
		g.address = listener.Addr().String()
		var handler http.Handler = s.state
		if i != senderSlot {
			handler = s.routes(g)
		}
		g.http = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		s.serving.Go(func() { _ = g.http.Serve(listener) }) // until shut
	}
	return nil
}

// routes are what a slot's worker can reach.
func (s *server) routes(g *gate) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(storePath, s.store)
	mux.Handle("/", &spy{s.state, s.ledger, &g.process})
	return mux
}

func (s *server) shut() {
	for i := range s.gates {
		_ = s.gates[i].http.Close()
	}
	s.serving.Wait()
}

func (s *server) close() {
	s.shut()
	_ = s.state.Close()
}

// account is the emulator's, in the URLs of queues.
const account = "/000000000000/"

func (s *server) queueURL(name string) string { return s.state.URL() + account + name }

// createQueues makes the two queues with their dead-letter queues, to which SQS
// itself moves nothing before the thousandth receive.
func (s *server) createQueues(ctx context.Context) {
	must.Get2(harness.MakeQueues(ctx, s.client, standardName, deadName, 1000))
	must.Get2(harness.MakeQueues(ctx, s.client, fifoName, deadFIFOName, 1000))
}

// send sends orders, in their order, those of a group to the second queue.
func (s *server) send(ctx context.Context, orders []order, queues [2]string) (err error) {
	defer must.Return(&err)
	var batch [2][]types.SendMessageBatchRequestEntry
	urls := [2]string{s.queueURL(queues[0]), s.queueURL(queues[1])}
	flush := func(q int) error {
		if len(batch[q]) == 0 {
			return nil
		}
		out, err := s.client.SendMessageBatch(ctx, &awssqs.SendMessageBatchInput{QueueUrl: &urls[q], Entries: batch[q]})
		if err == nil && len(out.Failed) > 0 {
			err = fmt.Errorf("sending: %s: %s", aws.ToString(out.Failed[0].Code), aws.ToString(out.Failed[0].Message))
		}
		batch[q] = nil
		return err
	}
	for i := range orders {
		o := &orders[i]
		id, q := strconv.Itoa(o.N), 0
		e := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String(o.body())}
		if o.group != "" {
			q, e.MessageGroupId, e.MessageDeduplicationId = 1, &o.group, &id
		}
		if batch[q] = append(batch[q], e); len(batch[q]) == 10 {
			must.Do(flush(q))
		}
	}
	for q := range batch {
		must.Do(flush(q))
	}
	return nil
}

// misbehave injects the emulator's own faults, a few in a hundred calls.
func (s *server) misbehave() error {
	var list []sqs.Fault
	for _, operation := range []string{"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
		for _, k := range []sqs.FaultKind{sqs.LostAnswer, sqs.Throttled, sqs.Failure} {
			list = append(list, sqs.Fault{Kind: k, Operation: operation, Probability: 0.01})
		}
	}
	list = append(list,
		sqs.Fault{Kind: sqs.EntryFailure, Operation: "DeleteMessageBatch", Probability: 0.02},
		sqs.Fault{Kind: sqs.EntryFailure, Operation: "ChangeMessageVisibilityBatch", Probability: 0.02},
		sqs.Fault{Kind: sqs.DuplicateDelivery, Operation: "ReceiveMessage", Queue: standardName, Probability: 0.01})
	for _, dead := range []string{deadName, deadFIFOName} {
		for _, k := range []sqs.FaultKind{sqs.LostAnswer, sqs.Throttled, sqs.EntryFailure} {
			list = append(list, sqs.Fault{Kind: k, Operation: "SendMessageBatch", Queue: dead, Probability: 0.05})
		}
	}
	return s.state.Inject(list...)
}
