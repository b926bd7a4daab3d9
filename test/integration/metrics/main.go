// Package metrics lets a container's program put its metrics, by the real
// client, into moto's CloudWatch in a process of its own, and reads back by
// GetMetricStatistics what telemetry/cloudwatch has put.
//
// It needs Python 3 with its venv module, and PyPI on the first use: it shares
// SAM's environment, which has moto. What moto lacks is in python/server.py.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/moto"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// compressFrom is from how many bytes on a call is compressed: less than the
// client's 10 KiB, so that some are for sure.
const compressFrom = 4000

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	calls := filepath.Join(s.Tmp, "calls")
	server, err := moto.Start(ctx, s, sam, "test/integration/metrics/python/server.py", calls)
	if err != nil {
		return err
	}
	defer server.Stop()
	// Of the environment only what a container has: the client is the one that
	// telemetry/cloudwatch makes by itself.
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_CLOUDWATCH": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "",
		"AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES": strconv.Itoa(compressFrom),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	seen, err := work(ctx)
	if err != nil {
		return err
	}
	if err := readBack(ctx, seen); err != nil {
		return err
	}
	return theCalls(calls)
}

// theCalls looks at what came over the wire.
func theCalls(path string) error {
	calls, err := readCalls(path)
	if err != nil {
		return err
	}
	compressed, data := 0, 0
	for _, c := range calls {
		data += c.Data
		if c.Compressed == "gzip" {
			compressed++
		}
		if got, want := c.Compressed == "gzip", c.Bytes >= compressFrom; got != want {
			return fmt.Errorf("a call of %d bytes was compressed: %v", c.Bytes, got)
		}
	}
	fmt.Printf("%d calls with %d data, %d of them compressed\n", len(calls), data, compressed)
	if compressed == 0 {
		return errors.New("no call was compressed")
	}
	return nil
}
