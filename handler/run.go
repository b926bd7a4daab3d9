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

// Run handles records by h until the process ends, configured by the
// environment. It is all that a main function needs:
//
//	func main() { handler.Run(batch.JSON(shipOrder)) }
//
// On Lambda it handles the invocations. Elsewhere it polls the queues of
// SQSBATCH_QUEUE_URL, see [Poll]: SIGTERM or SIGINT stops it, a second one ends
// it at once; the same again within a second counts as one.
//
// It does not return. When the configuration is wrong it says so on standard
// error and exits with status 1.
func Run(h batch.Handler) { RunWith(h, Config{}) }

// RunWith is [Run] with a configuration in code. What it leaves zero comes
// from the environment.
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
		exit(errors.New("a second signal: ended at once, what was in flight comes back when its visibility timeout is over"))
	}()
	if err := Poll(ctx, h, cfg); err != nil {
		exit(err)
	}
	os.Exit(0)
}

// sameStop is for how long a signal that comes again counts as the one before. A
// program that signals a process and its group, as timeout of the GNU coreutils does,
// sends one stop twice.
const sameStop = time.Second

// untilSecond calls stop at the first signal, and returns at the second: another
// one, or the same again later than sameStop.
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
