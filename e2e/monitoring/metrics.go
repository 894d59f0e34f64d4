package monitoring

import (
	"errors"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// UsedMetrics returns the names of the metrics that the rules and the dashboard use, with the labels
// by which they are selected. It leaves out those that the rules record.
func UsedMetrics() (used map[string][]string, err error) {
	rules, err := Rules()
	if err != nil {
		return nil, err
	}
	used = make(map[string][]string)
	for _, rule := range rules {
		err = errors.Join(err, addMetrics(used, rule.Expr))
	}
	for _, query := range Queries() {
		err = errors.Join(err, addMetrics(used, strings.ReplaceAll(query.Selecting(`job="a"`), "$__rate_interval", "5m")))
	}
	return used, err
}

// addMetrics adds the metrics of an expression.
func addMetrics(used map[string][]string, text string) error {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return err
	}
	for _, selector := range parser.ExtractSelectors(expression) {
		name, matched := selectorOf(selector)
		if name != "ALERTS" && !strings.Contains(name, ":") {
			used[name] = append(used[name], matched...)
		}
	}
	return nil
}

// selectorOf returns the name and the labels of a selector.
func selectorOf(selector []*labels.Matcher) (name string, matched []string) {
	for _, matcher := range selector {
		if matcher.Name == model.MetricNameLabel {
			name = matcher.Value
		} else {
			matched = append(matched, matcher.Name)
		}
	}
	return name, matched
}
