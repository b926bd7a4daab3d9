// Package sqs is an in-process Amazon SQS for tests and local runs. The AWS SDKs talk to it
// as they talk to the service. It speaks the AWS JSON 1.0 protocol, and the query protocol
// of SDKs from before the end of 2023. It follows the service's rules and limits and
// returns its typed errors.
//
// [New] makes a server that needs no socket. With [Server.HTTPClient] the real client works
// inside a testing/synctest bubble, where a visibility timeout of twelve hours takes no
// real time:
//
//	func TestRetry(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			server := sqs.New(sqs.Options{})
//			defer server.Close()
//			client := server.Client()
//			queue, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
//			...
//		})
//	}
//
// [Serve] listens on a loopback address, for clients in other processes. It refuses
// requests of web pages, and requests for a host name that is neither loopback nor in
// [Config.AllowedHosts].
//
// # What it does
//
// Every operation of the service:
//
//   - Queues: create, URL, list, attributes with the counts, tags, purge, delete.
//   - Messages: send, receive with short and long poll, delete, change
//     visibility, and the three batch calls; delays and retention.
//   - FIFO queues: groups, deduplication, sequence numbers, receive attempts.
//     Fair queues: message groups on standard queues.
//   - Dead-letter queues: redrive, allow policies, sources, message move tasks.
//   - Permissions are added to and removed from the queue's policy, if its
//     Statement is a list.
//
// The quotas and limits of the developer guide apply, with the service's typed errors.
// Exceptions: throughput and policies are not limited. Nothing is encrypted, any
// credentials are accepted, and a policy may be any JSON object, which is stored and not
// enforced.
//
// Events report what happened to messages ([Config.Observe], [Server.Events]), and calls
// report the requests ([Config.ObserveCall], [Server.Calls]). [Server.Snapshot] shows the
// messages of all queues without receiving them. Faults make calls fail in the ways that
// consumers must survive: [Fault], [Server.Inject]. [Server.Pause] and [Server.Move] are for
// tools: a queue without consumers, and messages that an operator moves.
//
// # Deterministic behavior
//
// Where the service promises little, the emulator is deterministic, so that tests are
// repeatable:
//
//   - Counts and lists are exact at once, and a change of an attribute has effect
//     at once. A queue can be used as soon as it is created.
//   - A standard queue delivers each message once per visibility timeout, in the
//     order in which messages became visible. Faults of the kinds
//     [DuplicateDelivery], [OutOfOrder] and [EmptyReceive] change this.
//   - Of the groups of a FIFO queue, the one whose first message became visible
//     first is received first. A group whose first message failed goes last.
//   - A short poll finds every message that is there. Receivers that wait are
//     served in the order in which they came.
//   - A message moves to the dead-letter queue when a receive would otherwise
//     deliver it once more than maxReceiveCount allows.
//   - A message move task moves messages in the order of receives, at the
//     requested rate or else 500 messages per second. The first one is moved after
//     one interval. The task waits for messages in flight. It is completed when it
//     has moved as many messages as the queue had at its start, or when the queue is
//     empty. It can be cancelled at any time. A moved message is a new one: it has
//     another id, another enqueue time, and no receives.
//   - A receive attempt that can no longer be repeated, because a message was
//     changed or deleted, is an ordinary receive.
//   - A noisy tenant of a fair queue has at least 30 messages and more than a tenth
//     of all messages in flight, or more than a tenth of the recent processing time,
//     if that is at least one minute. A message is processed while it is in flight.
//     Processing time loses weight by a factor of e every 5 minutes. A tenant that
//     sent nothing for 5 minutes is quiet.
//
// # Time
//
// The server uses only the time of package time. Delays, visibility timeouts and retention
// periods that have ended take effect when a request comes. While a receiver waits, a
// message move task runs, or [Config.Observe] is set, a timer applies them, too. A server
// that was made inside a synctest bubble must be used and closed there.
package sqs
