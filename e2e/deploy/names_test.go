package deploy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestNames_FollowTheRelease checks the names of the Deployment, and the label with the name of the
// chart.
func TestNames_FollowTheRelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		release             string
		values              values
		want, wantNameLabel string
	}{
		"release and chart":                     {"state", nil, "state-kubeconnect", "kubeconnect"},
		"a release that is named as the chart":  {"kubeconnect", nil, "kubeconnect", "kubeconnect"},
		"a release whose name has the chart's":  {"my-kubeconnect", nil, "my-kubeconnect", "kubeconnect"},
		"another name of the chart":             {"r", values{"nameOverride": "state"}, "r-state", "state"},
		"another full name":                     {"r", values{"fullnameOverride": "state"}, "state", "kubeconnect"},
		"a long release, which leaves a suffix": {strings.Repeat("r", 51), nil, strings.Repeat("r", 51), "kubeconnect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deployment := ofKind[appsv1.Deployment](t, release{test.release, "n", with(test.values)}.manifests(t), "Deployment")[0]
			if label := deployment.Labels["app.kubernetes.io/name"]; deployment.Name != test.want || label != test.wantNameLabel {
				t.Errorf("name %q, label %q, want %q and %q", deployment.Name, label, test.want, test.wantNameLabel)
			}
		})
	}
}

// TestLabels_OfEveryObjectAreTheRecommendedOnes checks that the version of a chart can have build
// metadata, whose + no label can contain.
func TestLabels_OfEveryObjectAreTheRecommendedOnes(t *testing.T) {
	t.Parallel()
	chart, err := loadChart()
	succeeds(t, err)
	chart.Metadata.Version, chart.Metadata.AppVersion = "1.2.3+build", "4.5.6"
	want := map[string]string{
		"helm.sh/chart": "kubeconnect-1.2.3_build", "app.kubernetes.io/name": "kubeconnect", "app.kubernetes.io/instance": "r",
		"app.kubernetes.io/version": "4.5.6", "app.kubernetes.io/managed-by": "Helm",
	}
	for name, variant := range variants {
		if _, renamed := variant["nameOverride"]; renamed {
			continue
		}
		for _, object := range (release{"r", "n", with(variant)}).manifestsOf(t, chart) {
			labels := object.GetLabels()
			maps.DeleteFunc(labels, func(key, _ string) bool { return want[key] == "" })
			if !maps.Equal(labels, want) {
				t.Errorf("%s: labels of %s %s: %v", name, object.GetKind(), object.GetName(), labels)
			}
		}
	}
}

// TestSelectors_HaveNoVersion is about upgrades: the selector of a Deployment cannot be changed.
func TestSelectors_HaveNoVersion(t *testing.T) {
	t.Parallel()
	want := []string{"app.kubernetes.io/instance", "app.kubernetes.io/name"}
	deployment := deploymentOfChart(t, nil)
	for description, labels := range map[string]map[string]string{
		"selector of the Deployment": deployment.Spec.Selector.MatchLabels,
		"labels of the pods":         deployment.Spec.Template.Labels,
	} {
		if got := slices.Sorted(maps.Keys(labels)); !slices.Equal(got, want) {
			t.Errorf("%s: %q", description, got)
		}
	}
}
