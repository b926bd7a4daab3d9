package handler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settings"
)

// Run handles records with h until the process ends. The environment configures it. A main
// function needs nothing else:
//
//	func main() { handler.Run(batch.JSON(shipOrder)) }
//
// On Lambda, Run handles the invocations. Elsewhere it polls the queues of
// SQSBATCH_QUEUE_URL, see [Poll]. SIGTERM or SIGINT stops it; a second signal ends it at
// once. The same signal again within a second does not count as a second one.
//
// Run does not return. If the configuration is wrong, it writes the reason to standard
// error and exits with status 1.
func Run(h batch.Handler) { RunWith(h, Config{}) }

// RunWith is [Run] with a configuration in code. Zero fields come from the environment.
func RunWith(h batch.Handler, cfg Config) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		l, err := New(h, cfg)
		if err != nil {
			exit(err)
		}
		lambda.Start(l)
		return
	}
	if _, named := h.(Queues); !named && len(cfg.Poll.Queues) == 0 && os.Getenv(settings.QueueURL.Name) == "" {
		exit(errors.Join(errNoMode, cfg.fromEnvironment(), unknownVariables()))
	}
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		untilSecond(signals, stop)
		exit(errors.New("ended at once because of a second signal: records in flight come back when their visibility timeout is over"))
	}()
	if err := Poll(ctx, h, cfg); err != nil {
		exit(err)
	}
	os.Exit(0)
}

// sameStop is the time within which the same signal counts once. A program that signals a
// process and its process group, as timeout of the GNU coreutils does, sends it twice.
const sameStop = time.Second

// untilSecond calls stop at the first signal and returns at the second: a different signal,
// or the same one after more than sameStop.
func untilSecond(signals <-chan os.Signal, stop func()) {
	first := <-signals
	at := time.Now()
	stop()
	for s := range signals {
		if s != first || time.Since(at) >= sameStop {
			return
		}
	}
}

func exit(err error) {
	fmt.Fprintf(os.Stderr, "sqsbatch: %v\n", err)
	os.Exit(1)
}

var errNoMode = errors.New(`nothing to do: this is not AWS Lambda (AWS_LAMBDA_RUNTIME_API is not set), and no queue is named.
To poll a queue, name it:
	SQSBATCH_QUEUE_URL=https://sqs.REGION.amazonaws.com/ACCOUNT/NAME
To try it on this machine, with an embedded SQS and Lambda, run in its module:
	sqsbatch local --event FILE .
(go install ./cmd/sqsbatch in a clone of sqsbatch makes that command; of a release, go install github.com/sqsbatch/sqsbatch/cmd/sqsbatch@latest)
or, where Docker is at hand:
	sam build && sam local invoke -e EVENT.json`)
