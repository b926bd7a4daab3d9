package sender_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/sender"
)

const (
	benchQueue = "https://sqs.us-east-1.amazonaws.com/123456789012/orders"
	benchBody  = "the quick brown fox jumps over the lazy dog, and then it does it again and again for 100 bytes......"
)

// confirming is an HTTP client that confirms every message at once, so that a benchmark
// measures the client's side alone.
type confirming struct{ md5 string }

func (c confirming) Do(r *http.Request) (*http.Response, error) {
	in, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString(`{"Successful":[`)
	for i := range bytes.Count(in, []byte(`"Id":`)) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"Id":"%d","MessageId":"5fea7756-0ea4-451a-a703-a558b933e274","MD5OfMessageBody":%q}`, i, c.md5)
	}
	out.WriteString(`]}`)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(out.String())), ContentLength: int64(out.Len()), Request: r,
	}, nil
}

// BenchmarkMessage is the cost of a message: by Enqueue, and by loops that send full batches
// of a message that is there already.
func BenchmarkMessage(b *testing.B) {
	sum := md5.Sum([]byte(benchBody))
	client := awssqs.New(awssqs.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: confirming{hex.EncodeToString(sum[:])},
	})
	b.Run("impl=Enqueue", func(b *testing.B) {
		s, err := sender.New(client, sender.Config{Queue: benchQueue})
		if err != nil {
			b.Fatal(err)
		}
		var confirmed atomic.Int64
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Enqueue(b.Context(), sender.Text(benchBody), func(r sender.Result) {
				if r.Err == nil {
					confirmed.Add(1)
				}
			}); err != nil {
				b.Fatal(err)
			}
		}
		if left := s.Close(b.Context()); left != nil || confirmed.Load() != int64(b.N) {
			b.Fatalf("%d of %d are confirmed, %d left", confirmed.Load(), b.N, len(left))
		}
	})
	b.Run("impl=loops", func(b *testing.B) {
		var left, confirmed atomic.Int64
		left.Store(int64(b.N))
		b.ReportAllocs()
		var loops sync.WaitGroup
		for range 16 {
			loops.Go(func() {
				for left.Add(-10) > -10 {
					in := &awssqs.SendMessageBatchInput{QueueUrl: aws.String(benchQueue)}
					for i := range 10 {
						in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(benchBody)})
					}
					out, err := client.SendMessageBatch(b.Context(), in)
					if err != nil {
						b.Error(err)
						return
					}
					confirmed.Add(int64(len(out.Successful)))
				}
			})
		}
		loops.Wait()
		if n := confirmed.Load(); n < int64(b.N) {
			b.Fatalf("%d of %d are confirmed", n, b.N)
		}
	})
}
