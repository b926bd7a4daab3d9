package main

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// template is the part of template.yaml whose values depend on each other in
// ways that neither CloudFormation nor cfn-lint looks at.
type template struct {
	Parameters map[string]struct {
		Default       string   `yaml:"Default"`
		AllowedValues []string `yaml:"AllowedValues"`
	} `yaml:"Parameters"`
	Mappings struct {
		VisibilityTimeout map[string]map[string]int `yaml:"VisibilityTimeout"`
	} `yaml:"Mappings"`
	Resources map[string]struct {
		Properties struct {
			MessageRetentionPeriod int `yaml:"MessageRetentionPeriod"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

func loadTemplate(t *testing.T) template {
	t.Helper()
	b, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tmpl template
	if err := yaml.Unmarshal(b, &tmpl); err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// The table in the template has 6 x timeout + window for each timeout and
// window that can be chosen, and nothing else.
func TestVisibilityTimeoutFollowsFromTimeoutAndWindow(t *testing.T) {
	tmpl := loadTemplate(t)
	timeouts := tmpl.Parameters["FunctionTimeout"].AllowedValues
	windows := tmpl.Parameters["BatchWindow"].AllowedValues
	table := tmpl.Mappings.VisibilityTimeout
	if len(timeouts) == 0 || len(windows) == 0 || len(table) != len(timeouts) {
		t.Fatalf("%d timeouts, %d windows, %d lines", len(timeouts), len(windows), len(table))
	}
	for timeout, line := range table {
		if !slices.Contains(timeouts, timeout) {
			t.Errorf("FunctionTimeout %s is in the table and cannot be chosen", timeout)
		}
		if len(line) != len(windows) {
			t.Errorf("FunctionTimeout %s: %d windows, want %d", timeout, len(line), len(windows))
		}
		for _, window := range windows {
			if got, want := line[window], 6*number(t, timeout)+number(t, window); got != want {
				t.Errorf("visibility for timeout %s and window %s is %d, want %d", timeout, window, got, want)
			}
		}
	}
}

func TestDeadLettersOutliveTheirSource(t *testing.T) {
	tmpl := loadTemplate(t)
	source := tmpl.Resources["OrdersQueue"].Properties.MessageRetentionPeriod
	dead := tmpl.Resources["OrdersDeadLetterQueue"].Properties.MessageRetentionPeriod
	if source == 0 || dead <= source {
		t.Errorf("dead letters are kept %d s, messages %d s", dead, source)
	}
}

// The events' answers are tested with the timeout that is deployed.
func TestTimeoutIsTheDeployedOne(t *testing.T) {
	deployed := number(t, loadTemplate(t).Parameters["FunctionTimeout"].Default)
	if timeout != time.Duration(deployed)*time.Second {
		t.Errorf("tests use %v, template.yaml deploys %d s", timeout, deployed)
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
