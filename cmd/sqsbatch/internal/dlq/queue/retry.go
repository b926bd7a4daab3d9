package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

const (
	// Patience is how long a call is repeated without success.
	Patience = 2 * time.Minute
	// Opening is the patience of a command's first calls: a wrong endpoint is reported soon.
	Opening = 5 * time.Second
)

const (
	callTimeout = 20 * time.Second // of one try, besides the time that a receive waits
	firstDelay  = 200 * time.Millisecond
	lastDelay   = 5 * time.Second
)

// Call makes a call of the SDK until it succeeds, fails for good, or patience or ctx ends.
func Call[In, Out any](ctx context.Context, patience time.Duration, call func(context.Context, *In, ...func(*sqs.Options)) (*Out, error), in *In) (out *Out, err error) {
	end := time.Now().Add(patience)
	for failures := 1; ; failures++ {
		once(ctx, func(ctx context.Context) { out, err = call(ctx, in) })
		if err == nil || ctx.Err() != nil || !sqserror.Passing(err) || !pause(ctx, failures, end) {
			return out, err
		}
	}
}

// once makes one try.
func once(ctx context.Context, call func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call(ctx)
}

// pause waits before the next try. It returns false if end or the end of ctx comes first.
func pause(ctx context.Context, failures int, end time.Time) bool {
	delay := sleep.Backoff(failures, firstDelay, lastDelay)
	return time.Now().Add(delay).Before(end) && sleep.For(ctx, delay)
}

// Advise adds to the error of a call what to do about it. It returns nil for nil.
func Advise(err error, operation, queue string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %s: %s (%w)", operation, queue, sqserror.Advice(err, "sqs:"+operation, queue), err)
}

// errNotAnswered is for an entry that an answer does not contain.
var errNotAnswered = errors.New("SQS's answer does not contain this message")

// batchCall makes one call for the entries with the given positions. The ids of the
// entries are their positions.
type batchCall func(ctx context.Context, positions []int) (confirmed []*string, failed []types.BatchResultErrorEntry, err error)

// batchOf calls SQS for n entries, in chunks that divide makes, and repeats it for those that
// may succeed later. errs has the last error of each entry. unsure says that a try for the
// entry may have had its effect, although it failed.
func batchOf(ctx context.Context, n int, divide func(positions []int) [][]int, call batchCall) (errs []error, unsure []bool) {
	errs, unsure = make([]error, n), make([]bool, n)
	if n == 0 {
		return errs, unsure
	}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	end := time.Now().Add(Patience)
	for failures := 1; ; failures++ {
		for _, chunk := range divide(left) {
			sqserror.Divide(chunk, func(part []int) ([]int, error) {
				var confirmed []*string
				var failed []types.BatchResultErrorEntry
				var err error
				once(ctx, func(ctx context.Context) { confirmed, failed, err = call(ctx, part) })
				for _, i := range part {
					errs[i] = err
					if err == nil {
						errs[i] = errNotAnswered
					}
				}
				sqserror.ReadAnswer(errs, confirmed, failed)
				for _, i := range part {
					unsure[i] = unsure[i] || sqserror.Unsure(errs[i])
				}
				return part, err
			})
		}
		again := left[:0]
		for _, i := range left {
			if errs[i] != nil && (sqserror.Passing(errs[i]) || errors.Is(errs[i], errNotAnswered)) {
				again = append(again, i)
			}
		}
		if left = again; len(left) == 0 || ctx.Err() != nil || !pause(ctx, failures, end) {
			return errs, unsure
		}
	}
}

// inTens divides positions into chunks of ten.
func inTens(positions []int) [][]int { return slices.Collect(slices.Chunk(positions, 10)) }

func entryID(position int) *string {
	id := strconv.Itoa(position)
	return &id
}
