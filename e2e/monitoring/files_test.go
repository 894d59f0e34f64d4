package monitoring

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// TestDashboard_IsGenerated writes the dashboard with UPDATE=1, as `make dashboard` does.
func TestDashboard_IsGenerated(t *testing.T) {
	t.Parallel()
	path, err := DashboardFile()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not up to date (%v): run make dashboard", path, err)
	}
}

func TestDashboard_ExpressionsAreValid(t *testing.T) {
	t.Parallel()
	for _, query := range Queries() {
		text := strings.ReplaceAll(query.Selecting(`job="a"`), "$__rate_interval", "5m")
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if text == query.Expr && !strings.Contains(text, "ALERTS") {
			t.Errorf("%s does not select replicas", text)
		}
	}
}

// TestRules_UseWhatOthersRecord checks the names of recorded metrics: a wrong one selects nothing,
// and its alert never fires.
func TestRules_UseWhatOthersRecord(t *testing.T) {
	t.Parallel()
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(map[string]bool)
	for _, rule := range rules {
		recorded[rule.Record] = true
	}
	for _, rule := range rules {
		for _, name := range regexp.MustCompile(`instance:\w+:\w+`).FindAllString(rule.Expr, -1) {
			if !recorded[name] {
				t.Errorf("%s%s uses %s, which no rule records", rule.Alert, rule.Record, name)
			}
		}
	}
}

// TestAlerts_AreComplete checks what an operator needs from each alert. Prometheus' own parser, which
// promtool uses, has checked the rest.
func TestAlerts_AreComplete(t *testing.T) {
	t.Parallel()
	alerts, err := Alerts()
	if err != nil || len(alerts) == 0 {
		t.Fatal(alerts, err)
	}
	severities := regexp.MustCompile(`^(critical|warning)$`)
	for _, alert := range alerts {
		if !severities.MatchString(alert.Labels["severity"]) {
			t.Errorf("%s has severity %q", alert.Alert, alert.Labels["severity"])
		}
		for _, name := range []string{"summary", "description"} {
			if text := alert.Annotations[name]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s has %s %q, want a sentence", alert.Alert, name, text)
			}
		}
		if alert.For > model.Duration(30*time.Minute) {
			t.Errorf("%s is pending for %v", alert.Alert, alert.For)
		}
	}
}

// TestAlerts_HaveARunbook compares the links of the alerts with the headings of the page.
func TestAlerts_HaveARunbook(t *testing.T) {
	t.Parallel()
	page := "docs/operations.md"
	path, err := harness.Path(page)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := Alerts()
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		want := "https://github.com/kubeconnect/kubeconnect/blob/main/" + page + "#" + strings.ToLower(alert.Alert)
		if got := alert.Annotations["runbook_url"]; got != want {
			t.Errorf("%s links %q, want %q", alert.Alert, got, want)
		}
		if !bytes.Contains(text, []byte("\n### "+alert.Alert+"\n")) {
			t.Errorf("%s has no section in %s", alert.Alert, page)
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^### (Kubeconnect\w+)$`).FindAllSubmatch(text, -1) {
		if !hasAlert(alerts, string(found[1])) {
			t.Errorf("%s has a section for %s, which is no alert", page, found[1])
		}
	}
}

func hasAlert(alerts []rulefmt.Rule, name string) bool {
	return slices.ContainsFunc(alerts, func(alert rulefmt.Rule) bool { return alert.Alert == name })
}

// ofOneReplica are the alerts about a replica whose siblings are well: each is for its replica.
var ofOneReplica = []string{"KubeconnectReplicaDown", "KubeconnectReplicaStale"}

// TestAlerts_FireOnceForAJob checks that no alert fires for each replica, resource or procedure: these
// have the cause of an alert in common, such as an API server that has restarted.
func TestAlerts_FireOnceForAJob(t *testing.T) {
	t.Parallel()
	alerts, err := Alerts()
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(alert.Expr)
		if err != nil {
			t.Fatal(err)
		}
		if want := !slices.Contains(ofOneReplica, alert.Alert); isOnceForAJob(expr) != want {
			t.Errorf("%s fires once for a job: %v, want %v: %s", alert.Alert, !want, want, alert.Expr)
		}
	}
}

// isOnceForAJob reports whether the results of an expression differ in their namespace and job only.
func isOnceForAJob(expr parser.Expr) bool {
	switch expr := expr.(type) {
	case *parser.ParenExpr:
		return isOnceForAJob(expr.Expr)
	case *parser.AggregateExpr:
		return !expr.Without && !slices.ContainsFunc(expr.Grouping, func(label string) bool { return label != "namespace" && label != "job" })
	case *parser.BinaryExpr: // with the labels of its left side, if that is no number
		return isOnceForAJob(expr.LHS)
	case *parser.Call:
		return expr.Func.Name == "absent"
	}
	return false
}
