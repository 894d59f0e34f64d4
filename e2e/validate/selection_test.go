package validate

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestSelection_IsParsedFromRequests(t *testing.T) {
	selection, err := SelectionOf(&kubeconnectv1.WatchRequest{
		Namespace: "ns", LabelSelector: "app in (web,api),!canary", FieldSelector: "spec.color=red,metadata.name!=b",
	})
	if err != nil {
		t.Fatal(err)
	}
	red := written("a", "1")
	red.Fields = map[string]string{"spec.color": "red"}
	if !selection.holds(red) {
		t.Error("the selection does not match its object")
	}
	for name, write := range map[string]Write{
		"another namespace": {Key: Key{"other", "a"}, Labels: red.Labels, Fields: red.Fields},
		"another name":      {Key: Key{"ns", "b"}, Labels: red.Labels, Fields: red.Fields},
		"another field":     {Key: Key{"ns", "a"}, Labels: red.Labels},
		"another label":     {Key: Key{"ns", "a"}, Labels: labels.Set{"app": "web", "canary": ""}, Fields: red.Fields},
		"deleted":           {Key: Key{"ns", "a"}, Labels: red.Labels, Fields: red.Fields, Deleted: true},
	} {
		if selection.holds(write) {
			t.Errorf("the selection matches %s", name)
		}
	}
	for _, wrong := range []*kubeconnectv1.WatchRequest{{LabelSelector: "=="}, {FieldSelector: "a"}} {
		if _, err := SelectionOf(wrong); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}
