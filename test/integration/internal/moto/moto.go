// Package moto gives the integration checks moto's server, which plays AWS's
// part: the one that package samcli installs, run by a script of the check's own
// that adds what is missing in moto for it.
package moto

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// A Server is moto's, in a process of its own.
type Server struct {
	URL     string
	process *subprocess.Process
}

// Start returns when the server answers. script is a path in the repository; its
// arguments are the port and those that are given here. What it prints is logged.
func Start(ctx context.Context, s *stage.Stage, sam *samcli.CLI, script string, args ...string) (_ *Server, err error) {
	defer must.Return(&err)
	address := must.Get(harness.FreeAddress())
	_, port := must.Get2(net.SplitHostPort(address))
	// By its name: below an address the SDK would not put a bucket into the path.
	m := &Server{URL: "http://localhost:" + port}
	cmd := sam.Python(context.WithoutCancel(ctx), append([]string{filepath.Join(s.Root, filepath.FromSlash(script)), port}, args...)...)
	cmd.Env = stage.Environment()
	m.process = must.Get(subprocess.Start(cmd, func(_, text string) { fmt.Fprintln(s.Log, text) }))
	if err := harness.Ready(ctx, m.process, m.answers); err != nil {
		m.Stop()
		return nil, fmt.Errorf("moto's server does not answer: %w", err)
	}
	return m, nil
}

func (m *Server) answers() error {
	res, err := http.Get(m.URL + "/moto-api/data.json")
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Stop ends the server, which has nothing to save.
func (m *Server) Stop() { m.process.Kill() }
