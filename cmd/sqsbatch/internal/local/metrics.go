package local

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/runstats"
)

// writable checks, before anything runs, that the metrics can be written.
func writable(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	return f.Close()
}

// writeMetrics writes them to a file that a user names, for others to read.
func writeMetrics(path string, r *runstats.Report) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	return nil
}
