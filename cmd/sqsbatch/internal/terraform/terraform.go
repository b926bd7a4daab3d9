// Package terraform reads the JSON that `terraform show -json` and `tofu show -json` print of a
// plan or a state, as a template of CloudFormation, so that the rules have one kind of input.
//
//	s, err := terraform.Read(data)
//	if err != nil {
//		return err
//	}
//	stack, err := s.Template.Stack(s.Options)
//	result, err := rules.Check(stack)
//	place := s.Place(result.Findings[0].Pos)
//
// plan.go has the format, resources.go what becomes of each type of resource, and
// reference.go what a value refers to that is known only after the plan is applied.
package terraform

import (
	"regexp"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/source"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// Read reads a plan or a state. The error says why it cannot be read.
func Read(data []byte) (*source.Source, error) {
	p, err := decode(data)
	if err != nil {
		return nil, err
	}
	c := &conversion{plan: p, out: map[string]*source.Resource{}}
	c.options = optionsOf(data)
	c.index()
	for _, r := range c.list {
		c.convert(r)
	}
	for _, r := range c.list {
		c.amend(r)
	}
	s, err := source.Write(c.options, c.order)
	if err != nil {
		return nil, err
	}
	s.Words, s.Phrases = attributes, phrases
	s.Setting = func(_ source.Place, name string, value any) string { return Setting(name, value) }
	return s, nil
}

// phrases are what texts say of a plan.
var phrases = strings.NewReplacer(" the template", " the configuration", " this template", " this configuration")

var queueARN = regexp.MustCompile(`arn:aws[a-z-]*:sqs:([a-z0-9-]+):([0-9]{12}):`)

// optionsOf finds the region and the account that most ARNs of queues have.
func optionsOf(data []byte) (o template.Options) {
	count, most := map[[2]string]int{}, 0
	for _, m := range queueARN.FindAllSubmatch(data, -1) {
		at := [2]string{string(m[1]), string(m[2])}
		if count[at]++; count[at] > most {
			most, o.Region, o.AccountID = count[at], at[0], at[1]
		}
	}
	return o
}
