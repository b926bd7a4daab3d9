package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/sqsbatch/sqsbatch/test/internal/elasticmq"
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
		endpoint, end, err := startSqsbatch(sqsbatch)
		if err != nil {
			return nil, nil, err
		}
		stops = append(stops, end)
		list = append(list, server{"sqsbatch", endpoint})
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

// startSqsbatch starts `sqsbatch sqs` and returns its endpoint.
func startSqsbatch(program string) (endpoint string, stop func() error, err error) {
	var stderr bytes.Buffer
	cmd := exec.Command(program, "sqs", "--addr", "127.0.0.1:0", "--output", "json")
	cmd.SysProcAttr = ownGroup()
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	var ready struct{ Endpoint string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // what it printed says more
		return "", nil, fmt.Errorf("sqsbatch sqs did not start: %w: %s%s", err, line, stderr.Bytes())
	}
	return ready.Endpoint, func() error {
		_ = cmd.Process.Signal(os.Interrupt) // if it has ended, Wait says how
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("sqsbatch sqs ended with %w: %s", err, stderr.Bytes())
		}
		return nil
	}, nil
}
