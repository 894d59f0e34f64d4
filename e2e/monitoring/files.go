package monitoring

import (
	"errors"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// Job is the job of the service's targets in the rules. The chart replaces it by the name of the
// Service for metrics of a release.
const Job = "kubeconnect-metrics"

// RulesFile returns the path of the rules.
func RulesFile() (string, error) { return harness.Path("deploy", "kubeconnect", "files", "rules.yaml") }

// DashboardFile returns the path of the dashboard.
func DashboardFile() (string, error) {
	return harness.Path("deploy", "kubeconnect", "files", "dashboard.json")
}

// Rules returns the rules, in their order.
func Rules() (rules []rulefmt.Rule, err error) {
	path, err := RulesFile()
	if err != nil {
		return nil, err
	}
	groups, errs := rulefmt.ParseFile(path, false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules, nil
}

// Alerts returns the rules that are alerts, in their order.
func Alerts() ([]rulefmt.Rule, error) {
	rules, err := Rules()
	return slices.DeleteFunc(rules, func(rule rulefmt.Rule) bool { return rule.Alert == "" }), err
}
