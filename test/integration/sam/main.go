// Package sam checks the deployment with AWS's own tools: every template is
// clean under "sam validate --lint" or cfn-lint, so is what SAM's translator
// makes of it, and what "sam build" makes will start on Lambda, whatever the
// machine that builds.
//
// It needs Python 3 with its venv module, PyPI on the first use, and make.
package sam

import (
	"context"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
)

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) error {
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	s.Step("templates", func() error { return checkTemplates(ctx, s, sam) })
	s.Step("build", func() error { return checkBuilds(ctx, s, sam) })
	return nil
}
