// Package s3payload exchanges messages whose bodies are in S3 with Amazon's SQS
// Extended Client Library for Python: it sends and payload/s3payload receives, and
// the other way round, in both generations of the pointer. S3 is moto's server in
// a process of its own, SQS is emulator/sqs on a socket.
//
// It needs Python 3 with its venv module, and PyPI on the first use: it shares
// SAM's environment, which has moto, and has one for the library.
package s3payload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/moto"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// version is the library's that the checks were written against.
const version = "1.0.1"

// bucket is where payloads are.
const bucket = "sqsbatch-payloads"

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	w := &world{stage: s}
	defer func() { err = errors.Join(err, w.stop()) }()
	w.start(ctx)
	s.Step("Python sends, Unwrap receives", func() error { return w.run(ctx, pythonToUnwrap) })
	s.Step("Python sends, Stream receives", func() error { return w.run(ctx, pythonToStream) })
	s.Step("Sender sends, Python receives", func() error { return w.run(ctx, senderToPython) })
	s.Step("what S3 says of what is missing", func() error { return w.run(ctx, missing) })
	return nil
}

// world is what the steps share.
type world struct {
	stage  *stage.Stage
	python *pyenv.Env
	moto   *moto.Server
	sqs    *sqs.Server
	s3     *s3.Client
	queues *awssqs.Client
}

func (w *world) start(ctx context.Context) {
	sam := must.Get(samcli.Install(ctx))
	name := "sqs-extended-client-" + version + "-boto3-" + awscli.Boto3
	w.python = must.Get(pyenv.Install(ctx, name, "amazon-sqs-extended-client=="+version, "boto3=="+awscli.Boto3))
	w.moto = must.Get(moto.Start(ctx, w.stage, sam, "test/integration/s3payload/python/server.py"))
	w.sqs = must.Get(sqs.Serve("127.0.0.1:0", sqs.Options{}))
	// The clients are those that payload/s3payload makes by itself, and Python's,
	// which would put the bucket's name before the host's otherwise.
	settings := filepath.Join(w.stage.Tmp, "aws")
	must.Do(os.WriteFile(settings, []byte("[default]\ns3 =\n  addressing_style = path\n"), 0o600))
	os.Clearenv()
	for _, v := range stage.Environment("AWS_ENDPOINT_URL_S3="+w.moto.URL, "AWS_ENDPOINT_URL_SQS="+w.sqs.URL(), "AWS_CONFIG_FILE="+settings) {
		name, value, _ := strings.Cut(v, "=")
		must.Do(os.Setenv(name, value))
	}
	cfg := must.Get(config.LoadDefaultConfig(ctx))
	w.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	w.queues = awssqs.NewFromConfig(cfg)
	must.Get(w.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)}))
}

// run is a step, which leaves no object.
func (w *world) run(ctx context.Context, check func(context.Context, *world)) (err error) {
	defer must.Return(&err)
	check(ctx, w)
	if n := w.objects(ctx); n > 0 {
		return fmt.Errorf("%d objects are left in the bucket", n)
	}
	return nil
}

func (w *world) objects(ctx context.Context) int {
	return len(must.Get(w.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})).Contents)
}

func (w *world) stop() error {
	if w.moto != nil {
		w.moto.Stop()
	}
	if w.sqs == nil {
		return nil
	}
	return w.sqs.Close()
}
