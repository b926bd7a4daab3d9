// Package sqs is an in-process Amazon SQS for tests and local runs. AWS's SDKs
// talk to it as they talk to the service: it speaks the AWS JSON 1.0 protocol,
// and the query protocol of SDKs from before the end of 2023, and keeps the
// service's rules, limits and typed errors.
//
// [New] makes a server that needs no socket. With [Server.HTTPClient] the real
// client works inside a testing/synctest bubble, where a visibility timeout of
// twelve hours passes in no time:
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
// requests of web pages, and those by a host name that is neither loopback nor in
// [Options.AllowedHosts].
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
// The quotas and limits of the developer guide hold, with the service's typed
// errors, those of throughput and of policies apart. Nothing is encrypted, any
// credentials are accepted, and a policy is any JSON object: it is kept as it is,
// and nothing enforces it.
//
// Events tell what happened to messages ([Options.Observe], [Server.Events]) and
// calls what was asked ([Options.ObserveCall], [Server.Calls]). What is in the
// queues can be seen without receiving it: [Server.Snapshot]. Faults make calls go
// wrong in the ways that consumers must survive: [Fault], [Server.Inject].
//
// # What is definite here
//
// Where the service promises little, the emulator is definite, so that tests
// repeat:
//
//   - Counts and lists are exact at once, and a change of an attribute counts at
//     once. A queue can be used as soon as it is created.
//   - A standard queue delivers each message once per visibility timeout, in the
//     order in which messages became visible. Faults of the kinds
//     [DuplicateDelivery], [OutOfOrder] and [EmptyReceive] take that back.
//   - Of the groups of a FIFO queue, the one whose first message became visible
//     first is received first. A group whose first message failed goes last.
//   - A short poll finds every message that is there. Receivers that wait are
//     served in the order in which they came.
//   - A message moves to the dead-letter queue when a receive would otherwise
//     take it once more than maxReceiveCount allows.
//   - A message move task moves messages in the order of receives, at the rate
//     that was asked for, else 500 messages per second; the first one after one
//     interval. What is in flight is waited for. The task is completed when it has
//     moved as many messages as the queue had at its start, or the queue is empty,
//     and cancelled as soon as that is asked for. A moved message is a new one:
//     another id, another enqueue time, no receives.
//   - A receive attempt that can no longer be repeated, because a message was
//     changed or deleted, is an ordinary receive.
//   - A noisy tenant of a fair queue is one with at least 30 messages and more than
//     a tenth of all messages in flight, or with more than a tenth of the recent
//     processing time, from one minute of that on. A message is processed while it
//     is in flight, and what was 5 minutes ago counts 1/e. A tenant that sent
//     nothing for 5 minutes is quiet.
//
// # Time
//
// The server knows the time from package time only. Delays, visibility and
// retention are settled when a request comes, and by a timer while a receiver
// waits, a message move task runs or [Options.Observe] is set. A server that was made inside a synctest
// bubble must be used and closed there.
package sqs
