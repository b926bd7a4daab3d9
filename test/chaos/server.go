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
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// server is the emulator with a socket for each slot. Its state outlives the
// sockets, so that a restart loses nothing.
type server struct {
	state   *sqs.Server
	ledger  *ledger
	client  *awssqs.Client // in-process: the driver's own calls meet no faults
	gates   [slots]gate
	serving sync.WaitGroup
}

// gate is one slot's socket.
type gate struct {
	address string
	process atomic.Int64
	http    *http.Server
}

func newServer(messages int, seed uint64, l *ledger) (*server, error) {
	s := &server{ledger: l, state: sqs.New(sqs.Options{Observe: l.observe, Seed: seed, History: max(10_000, messages)})}
	s.client = awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.state.URL()), HTTPClient: s.state.HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider("driver", "driver", ""),
	})
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
		g.http = &http.Server{Handler: &spy{s.state, s.ledger, &g.process}, ReadHeaderTimeout: time.Minute}
		s.serving.Go(func() { _ = g.http.Serve(listener) }) // until shut
	}
	return nil
}

// shut closes the sockets and all connections.
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

// createQueues makes the two queues with their dead-letter queues, to which SQS
// itself moves nothing before the thousandth receive.
func (s *server) createQueues(ctx context.Context) error {
	for _, q := range []struct{ name, dead string }{{deadName, ""}, {deadFIFOName, ""}, {standardName, deadName}, {fifoName, deadFIFOName}} {
		in := &awssqs.CreateQueueInput{QueueName: &q.name, Attributes: map[string]string{}}
		if q.name == fifoName || q.name == deadFIFOName {
			in.Attributes["FifoQueue"] = "true"
		}
		if q.dead != "" {
			in.Attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1000}`, s.state.QueueARN(q.dead))
		}
		if _, err := s.client.CreateQueue(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// send sends orders, in their order.
func (s *server) send(ctx context.Context, orders []order) error {
	var batch [2][]types.SendMessageBatchRequestEntry
	urls := [2]string{s.state.QueueURL(standardName), s.state.QueueURL(fifoName)}
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
			if err := flush(q); err != nil {
				return err
			}
		}
	}
	for q := range batch {
		if err := flush(q); err != nil {
			return err
		}
	}
	return nil
}

// misbehave injects the server's own faults, a few in a hundred calls.
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
