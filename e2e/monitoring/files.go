package monitoring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"

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

// Groups returns the groups of the rules, by name, which use a storage and an engine.
func Groups(ctx context.Context, storage *teststorage.TestStorage, engine *promql.Engine, interval time.Duration) ([]*rules.Group, error) {
	path, err := RulesFile()
	if err != nil {
		return nil, err
	}
	manager := rules.NewManager(&rules.ManagerOptions{
		Context: ctx, Appendable: storage, Queryable: storage,
		QueryFunc:  rules.EngineQueryFunc(engine, storage),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(), NameValidationScheme: model.UTF8Validation,
	})
	groups, errs := manager.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, path)
	byName := func(a, b *rules.Group) int { return strings.Compare(a.Name(), b.Name()) }
	return slices.SortedFunc(maps.Values(groups), byName), errors.Join(errs...)
}

// Rules returns the rules, in their order.
func Rules() (all []rulefmt.Rule, err error) {
	path, err := RulesFile()
	if err != nil {
		return nil, err
	}
	groups, errs := rulefmt.ParseFile(path, false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all, nil
}

// Alerts returns the rules that are alerts, in their order.
func Alerts() ([]rulefmt.Rule, error) {
	all, err := Rules()
	return slices.DeleteFunc(all, func(rule rulefmt.Rule) bool { return rule.Alert == "" }), err
}
