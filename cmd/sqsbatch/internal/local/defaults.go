package local

import (
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// defaults is the template of a function that has none. Its settings are the defaults of
// the template.yaml in the repository's root; a test compares them.
const defaults = `
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: local
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt DeadLetterQueue.Arn, maxReceiveCount: 5}
  DeadLetterQueue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: local-dead, MessageRetentionPeriod: 1209600}
  Function:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 10
      MemorySize: 256
      Events:
        Messages:
          Type: SQS
          Properties:
            Queue: !GetAtt Queue.Arn
            BatchSize: 10
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: 10}
`

// defaultTemplate returns the template of a package for which dirs have none. It returns an
// error if the command line names no package or something that only a template has.
func defaultTemplate(o options, dirs []string) (t *template.Template, settings string, err error) {
	where := strings.Join(dirs, ", ")
	switch {
	case o.function != "" || o.queue != "" || len(o.parameters) > 0:
		return nil, "", fmt.Errorf("no %s in %s; name one with --template FILE, because --function, --queue and --parameter-overrides choose in a template",
			template.Names[0], where)
	case o.pkg == "":
		return nil, "", fmt.Errorf("no %s in %s; name one with --template FILE, or name the function's package, as in `%s .`, to run it with default settings",
			template.Names[0], where, o.command())
	}
	t, err = template.Parse([]byte(defaults))
	return t, fmt.Sprintf("defaults, because there is no %s in %s; --template FILE names one", template.Names[0], where), err
}
