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
//			client := awssqs.New(awssqs.Options{
//				Region:       "us-east-1",
//				BaseEndpoint: aws.String(server.URL()),
//				HTTPClient:   server.HTTPClient(),
//				Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
//			})
//			queue, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
//			...
//		})
//	}
//
// [Serve] listens on a loopback address, for clients in other processes.
//
// # What it does
//
// Queues (create, URL, list, attributes, tags, purge, delete), messages (send,
// receive with long poll, delete, change visibility, and the three batch
// calls), delays, retention, FIFO groups and deduplication, fair queues and
// redrive to dead-letter queues. Permissions and message move tasks answer
// UnsupportedOperation, and ReceiveRequestAttemptId is checked but has no
// effect. Any credentials are accepted; nothing is encrypted, and policies are
// kept but not enforced.
//
// Where the service promises little, the emulator is definite, so that tests
// repeat: counts and lists are exact at once, a standard queue delivers in the
// order in which messages became visible, and a change of an attribute counts
// at once.
//
// # Time
//
// The server knows the time from package time only. Delays, visibility and
// retention are settled when a request comes, and by a timer while a receiver
// waits or [Options.Observe] is set. A server that was made inside a synctest
// bubble must be used and closed there.
package sqs
