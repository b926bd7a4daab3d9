package rules_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
)

// What lets a topic named shop, a bucket named shop and a rule named shop send to a queue, or to one with a key. A finding is
// one of SB219 or SB306 that is an error: anything that is not sure is none.
func TestSenders_ThatPoliciesKeepOut(t *testing.T) {
	const (
		topic  = "T: {Type: AWS::SNS::Topic, Properties: {TopicName: shop}}\n  S: {Type: AWS::SNS::Subscription, Properties: {Protocol: sqs, TopicArn: !Ref T, Endpoint: !GetAtt Q.Arn}}"
		far    = "S: {Type: AWS::SNS::Subscription, Properties: {Protocol: sqs, TopicArn: 'arn:aws:sns:eu-west-1:111122223333:shop', Endpoint: !GetAtt Q.Arn}}"
		bucket = "B: {Type: AWS::S3::Bucket, Properties: {BucketName: shop, NotificationConfiguration: {QueueConfigurations: [{Event: e, Queue: !GetAtt Q.Arn}]}}}"
		rule   = "R: {Type: AWS::Events::Rule, Properties: {Name: shop, Targets: [{Id: a, Arn: !GetAtt Q.Arn}]}}"
		other  = "\n  O: {Type: AWS::SNS::Topic}"
		sns    = "Effect: Allow, Principal: {Service: sns.amazonaws.com}, Action: 'ACTION', Resource: '*'"
		every  = "Effect: Allow, Principal: '*', Action: 'ACTION', Resource: '*'"
		s3     = "Effect: Allow, Principal: {Service: s3.amazonaws.com}, Action: 'ACTION', Resource: '*'"
		events = "Effect: Allow, Principal: {Service: events.amazonaws.com}, Action: 'ACTION', Resource: '*'"
		deny   = sns + "}, {Effect: Deny, Principal: '*', Action: '*', Resource: '*'"
	)
	// A case is what sends, a statement with a condition, and what the finding says at the end, "" without one.
	for _, c := range [][4]string{
		{topic, sns, "", ""},
		{topic, sns, "ArnEquals: {'aws:SourceArn': !Ref T}", ""},
		{topic, sns, "ArnEquals: {'aws:SourceArn': !GetAtt T.TopicArn}", ""},
		{topic, sns, "ArnEquals: {'aws:SourceArn': !Sub 'arn:aws:sns:${AWS::Region}:${AWS::AccountId}:shop'}", ""},
		{topic, sns, "ArnLike: {'aws:SourceArn': 'arn:aws:sns:*:*:sh*'}", ""},
		{topic, sns, "ArnLike: {'aws:SourceArn': '*'}", ""},
		{topic, sns, "StringEquals: {'aws:SourceAccount': '111122223333'}", ""},
		{topic, sns, "StringEquals: {'aws:PrincipalServiceName': sns.amazonaws.com}", ""},
		{topic, sns, "Bool: {'aws:SecureTransport': true}", ""},
		{topic + other, sns, "ArnEquals: {'aws:SourceArn': [!Ref O, !Ref T]}", ""},
		{topic, sns, "ArnEquals: {'aws:SourceArn': !Ref Free}", ""},
		{topic, sns, "ArnEquals: {'aws:SourceArn': !Sub 'arn:aws:sns:eu-west-1:111122223333:${AWS::StackName}'}", ""},
		{topic, sns, "StringEqualsIfExists: {'aws:PrincipalOrgID': o-1}", ""},
		{topic, sns, "ForAllValues:StringLike: {'aws:PrincipalOrgPaths': o-1/*}", ""},
		{topic, sns, "StringNotEquals: {'aws:PrincipalOrgID': o-1}", ""},
		{topic, sns, "StringEquals: {'aws:Unheard': o-1}", ""},
		{topic, every, "ArnEquals: {'aws:SourceArn': !Ref T}", ""},
		{topic + other, sns, "ArnEquals: {'aws:SourceArn': !Ref O}", "its aws:SourceArn is O"},
		{topic + other, sns, "ArnEquals: {'aws:SourceArn': !GetAtt O.TopicArn}", "its aws:SourceArn is O.TopicArn"},
		{topic, sns, "ArnLike: {'aws:SourceArn': 'arn:aws:sns:*:*:shopping'}", "its aws:SourceArn is arn:aws:sns:*:*:shopping"},
		{topic, sns, "ArnLike: {'aws:SourceArn': 'arn:aws:s3:::shop'}", "its aws:SourceArn is arn:aws:s3:::shop"},
		{topic, sns, "ArnNotEquals: {'aws:SourceArn': !Ref T}", "-"},
		{topic, sns, "StringEquals: {'aws:SourceArn': 'arn:aws:sns:*:*:shop'}", "its aws:SourceArn is arn:aws:sns:*:*:shop, whose wildcard counts as a letter without ArnLike or StringLike"},
		{topic, sns, "StringEquals: {'aws:PrincipalOrgID': o-1}", "calls of services do not have aws:PrincipalOrgID"},
		{topic, every, "StringEquals: {'AWS:SourceVpce': vpce-1}", "calls of services do not have AWS:SourceVpce"},
		{topic, s3, "", "-"},
		{topic, deny, "StringNotEquals: {'aws:PrincipalOrgID': o-1}", "a statement denies it, since calls of services do not have aws:PrincipalOrgID"},
		{topic, deny, "StringNotEquals: {'aws:PrincipalOrgID': o-1}, BoolIfExists: {'aws:PrincipalIsAWSService': 'false'}", ""},
		{topic, deny, "Bool: {'aws:SecureTransport': 'false'}", ""},
		{far, sns, "ArnEquals: {'aws:SourceArn': 'arn:aws:sns:eu-west-1:111122223333:shop'}", ""},
		{far, sns, "ArnEquals: {'aws:SourceArn': !Sub 'arn:aws:sns:${AWS::Region}:${AWS::AccountId}:shop'}", ""},
		{far, sns, "ArnEquals: {'aws:SourceArn': 'arn:aws:sns:eu-west-1:111122223333:sale'}", "its aws:SourceArn is arn:aws:sns:eu-west-1:111122223333:sale"},
		{bucket, s3, "ArnLike: {'aws:SourceArn': 'arn:aws:s3:*:*:shop'}, StringEquals: {'aws:SourceAccount': !Ref AWS::AccountId}", ""},
		{bucket, s3, "ArnLike: {'aws:SourceArn': !GetAtt B.Arn}", ""},
		{bucket, s3, "ArnLike: {'aws:SourceArn': 'arn:aws:s3:::sale'}", "its aws:SourceArn is arn:aws:s3:::sale"},
		{bucket, s3, "ArnLike: {'aws:SourceArn': !Ref B}", "its aws:SourceArn is B"},
		{strings.Replace(bucket, "BucketName: shop, ", "", 1), s3, "ArnLike: {'aws:SourceArn': 'arn:aws:s3:::sale'}", ""},
		{rule, events, "ArnEquals: {'aws:SourceArn': !GetAtt R.Arn}", ""},
		{rule, events, "ArnLike: {'aws:SourceArn': 'arn:aws:events:*:111122223333:rule/shop'}", ""},
		{rule, events, "ArnLike: {'aws:SourceArn': 'arn:aws:events:*:111122223333:rule/sale'}", "its aws:SourceArn is arn:aws:events:*:111122223333:rule/sale"},
		{strings.Replace(rule, "Name: shop", "Name: shop, EventBusName: a", 1), events, "ArnLike: {'aws:SourceArn': 'arn:aws:events:*:111122223333:rule/a/shop'}", ""},
	} {
		sends, statement, condition, want := c[0], c[1], c[2], c[3]
		if condition != "" {
			statement += ", Condition: {" + condition + "}"
		}
		for id, text := range map[string]string{
			"SB219": "  Q: {Type: AWS::SQS::Queue}\n  P: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: [!Ref Q], PolicyDocument: {Statement: [{" + strings.ReplaceAll(statement, "ACTION", "sqs:SendMessage") + "}]}}}",
			"SB306": "  Q: {Type: AWS::SQS::Queue, Properties: {KmsMasterKeyId: !Ref K}}\n  K: {Type: AWS::KMS::Key, Properties: {KeyPolicy: {Statement: [{" + strings.ReplaceAll(statement, "ACTION", "kms:*") + "}]}}}",
		} {
			text = fmt.Sprintf("Parameters: {Free: {Type: String}}\nResources:\n%s\n  %s\n", text, sends)
			got := ""
			for _, f := range checkText(t, text).Findings {
				if f.ID == id && f.Severity == rules.Error {
					_, why, _ := strings.Cut(f.Message, ": ")
					got = cmp.Or(why, "-")
				}
			}
			if got != want {
				t.Errorf("%s: got %q, want %q in\n%s", id, got, want, text)
			}
		}
	}
}
