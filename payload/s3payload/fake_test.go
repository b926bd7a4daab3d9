package s3payload_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sqsbatch/sqsbatch/batch"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeS3 is what of S3's REST a real client needs here, in the same process:
// the truth is what test/compat/s3payload.go finds with moto's.
type fakeS3 struct {
	// fault, if set, may answer in place of the server.
	fault func(r *http.Request, bucket, key string) (*http.Response, error)
	// slow is how long each call takes.
	slow time.Duration

	mu      sync.Mutex
	objects map[string]string // by bucket/key
	calls   []string
	open    int // bodies that were not closed
}

// newS3 returns a fake that has the order under each of the keys.
func newS3(t testing.TB, keys ...string) *fakeS3 {
	f := &fakeS3{objects: map[string]string{}}
	for _, key := range keys {
		f.objects["payloads/"+key] = order
	}
	t.Cleanup(func() {
		if f.open != 0 {
			t.Errorf("%d bodies were not closed", f.open)
		}
	})
	return f
}

func (f *fakeS3) client() *s3.Client {
	return s3.New(s3.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://s3.test"), UsePathStyle: true, HTTPClient: &http.Client{Transport: f},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func (f *fakeS3) RoundTrip(r *http.Request) (*http.Response, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	if f.slow > 0 {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(f.slow):
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, r.Method+" "+bucket+"/"+key)
	if f.fault != nil {
		if answer, err := f.fault(r, bucket, key); answer != nil || err != nil {
			return answer, err
		}
	}
	object, there := f.objects[bucket+"/"+key]
	switch r.Method {
	case http.MethodPut:
		if r.Header.Get("X-Amz-Decoded-Content-Length") != "" || r.ContentLength != int64(len(sent)) {
			return nil, fmt.Errorf("the upload is encoded in chunks, which is not known here")
		}
		f.objects[bucket+"/"+key] = string(sent)
		return f.answer(r, 200, ""), nil
	case http.MethodDelete:
		delete(f.objects, bucket+"/"+key)
		return f.answer(r, 204, ""), nil
	}
	if !there {
		return f.refuse(r, 404, "NoSuchKey"), nil
	}
	return f.answer(r, 200, object), nil
}

func (f *fakeS3) answer(r *http.Request, status int, body string) *http.Response {
	f.open++
	return &http.Response{
		StatusCode: status, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Length": {fmt.Sprint(len(body))}},
		Body:   &closing{Reader: strings.NewReader(body), f: f},
	}
}

func (f *fakeS3) refuse(r *http.Request, status int, code string) *http.Response {
	a := f.answer(r, status, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>made to fail</Message><RequestId>r-1</RequestId></Error>`)
	a.Header.Set("Content-Type", "application/xml")
	return a
}

// refuseAll refuses calls with a method, or all if it is empty.
func (f *fakeS3) refuseAll(method string, status int, code string) {
	f.fault = func(r *http.Request, _, _ string) (*http.Response, error) {
		if method != "" && r.Method != method {
			return nil, nil
		}
		return f.refuse(r, status, code), nil
	}
}

// closing counts what is open.
type closing struct {
	io.Reader
	f    *fakeS3
	once sync.Once
}

func (c *closing) Close() error {
	c.once.Do(func() {
		c.f.mu.Lock()
		defer c.f.mu.Unlock()
		c.f.open--
	})
	return nil
}

// cutOff gives an object's first bytes, and then the connection's end.
func (f *fakeS3) cutOff(r *http.Request, object string, after int) *http.Response {
	a := f.answer(r, 200, object)
	a.Body = &closing{Reader: io.MultiReader(bytes.NewReader([]byte(object[:after])), failing{}), f: f}
	return a
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (f *fakeS3) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.calls, ", ")
}

// warned notes warnings.
type warned struct{ list []batch.Warning }

func (w *warned) Warned(_ context.Context, warning batch.Warning) { w.list = append(w.list, warning) }

func text(s string) batch.MessageAttribute {
	return batch.MessageAttribute{DataType: "String", StringValue: s}
}

func number(n int) batch.MessageAttribute {
	return batch.MessageAttribute{DataType: "Number", StringValue: fmt.Sprint(n)}
}

const (
	order   = `{"sku":"hat-1","text":"a secret"}`
	newer   = `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"payloads","s3Key":"a/1"}]`
	older   = `["com.amazon.sqs.javamessaging.MessageS3Pointer",{"s3BucketName":"payloads","s3Key":"a/1"}]`
	pythons = `["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "payloads", "s3Key": "a/1"}]`
)

func record(body string, attributes map[string]batch.MessageAttribute) batch.Record {
	return batch.Record{MessageID: "m-1", Body: body, MessageAttributes: attributes, MD5OfBody: "of the pointer"}
}

func size(n int) map[string]batch.MessageAttribute {
	return map[string]batch.MessageAttribute{"ExtendedPayloadSize": number(n)}
}

// ok fails the test if err is not nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
