package main

import "testing"

func TestPods_AreSpreadOverNamespacesLabelsAndNodes(t *testing.T) {
	seen := map[string]int{}
	inNamespace := map[string]int{}
	withLabel := map[string]int{}
	onNode := map[string]int{}
	for number := range full.pods {
		pod := podOf(number, full.pods)
		seen[pod.Namespace+"/"+pod.Name]++
		inNamespace[pod.Namespace]++
		withLabel[pod.Labels["app"]]++
		onNode[pod.Spec.NodeName]++
	}
	if len(seen) != full.pods || inNamespace[listNamespace] != full.pods/2 || inNamespace[fanOutNamespace] != fanOutPods {
		t.Errorf("got %d names, want %d; pods in each namespace: %v", len(seen), full.pods, inNamespace)
	}
	for app, count := range withLabel {
		if count != full.pods/apps {
			t.Errorf("%s has %d pods, want %d", app, count, full.pods/apps)
		}
	}
	for node, count := range onNode {
		if count != podsOfNode {
			t.Errorf("%s has %d pods, want %d", node, count, podsOfNode)
		}
	}
}
