package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sqsbatch/sqsbatch/test/internal/elasticmq"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

// server is an SQS endpoint.
type server struct{ name, endpoint string }

// startServers starts the servers, or the one that is named.
func startServers(ctx context.Context, sqsbatch, only string) (list []server, stop func() error, err error) {
	var stops []func() error
	stop = func() (err error) {
		for _, f := range stops {
			err = errors.Join(err, f())
		}
		return err
	}
	if only == "" || only == "sqsbatch" {
		s, err := sqsserver.Start(ctx, sqsbatch)
		if err != nil {
			return nil, nil, err
		}
		stops = append(stops, s.Stop)
		list = append(list, server{"sqsbatch", s.URL})
	}
	if only == "" || only == "elasticmq" {
		mq, err := elasticmq.Start(ctx)
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		stops = append(stops, func() error {
			mq.Stop()
			return os.Remove(mq.Log)
		})
		list = append(list, server{"elasticmq", mq.URL})
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("-server is %q: must be sqsbatch or elasticmq", only)
	}
	return list, stop, nil
}
