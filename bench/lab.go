package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// comparison is a named group of measurements.
type comparison struct {
	name string
	run  func(*lab, context.Context, *report) error
}

// comparisons are the comparisons that need pods, in the order in which they run.
var comparisons = []comparison{
	{"memory", (*lab).compareMemory},
	{"start", (*lab).compareStart},
	{"list", (*lab).compareLists},
	{"clients", (*lab).compareClients},
	{"python", (*lab).comparePython},
	{"typescript", (*lab).compareTypeScript},
	{"console", (*lab).compareConsole},
	{"label", (*lab).compareLabels},
	{"questions", (*lab).compareQuestions},
	{"pages", (*lab).comparePages},
	{"past", (*lab).comparePast},
	{"patches", (*lab).comparePatches},
	{"fanout", (*lab).compareFanOut},
	{"crowd", (*lab).compareCrowd},
	{"live", (*lab).compareLive},
	{"counters", (*lab).compareCounters},
	{"delay", (*lab).compareDelay},
	{"upstream", (*lab).compareUpstream},
	{"rights", (*lab).compareRights},
	{"audit", (*lab).compareAudit},
	{"revocation", (*lab).compareRevocation},
	{"scopes", (*lab).compareScopes},
	{"kubeapi", (*lab).compareKubeAPI},
}

func comparisonNames() []string {
	names := []string{idleComparison, sizingComparison}
	for _, c := range comparisons {
		names = append(names, c.name)
	}
	return names
}

// lab is the control plane with pods that all comparisons share.
type lab struct {
	scale
	cluster *controlPlane
}

func newLab(ctx context.Context, s settings, results *report) (*lab, error) {
	note("starting the control plane")
	cluster, err := startControlPlane(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	l := &lab{scale: s.scale, cluster: cluster}
	if err := l.fill(ctx, results); err != nil {
		cluster.stop()
		return nil, err
	}
	return l, nil
}

// fill creates the pods unless they exist from an earlier run, and records the size of a pod.
func (l *lab) fill(ctx context.Context, results *report) error {
	existing, err := l.cluster.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	switch count := len(existing.Items) + int(ptr.Deref(existing.RemainingItemCount, 0)); count {
	case l.pods:
	case 0:
		note("creating %d pods", l.pods)
		if err := l.cluster.createPods(ctx, l.pods); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the control plane has %d pods, want %d: use another -dir", count, l.pods)
	}
	results.pod, err = l.cluster.sizeOfAPod(ctx)
	note("%d pods, %s", l.pods, results.pod)
	return err
}

// eachRound runs a measurement once in every round.
func (s scale) eachRound(measure func(round int) error) error {
	return repeat(s.rounds, measure)
}

// fewRounds runs a measurement in half of the rounds. It is for measurements that take long and vary
// little.
func (s scale) fewRounds(measure func(round int) error) error {
	return repeat((s.rounds+1)/2, measure)
}

func repeat(rounds int, measure func(round int) error) error {
	for round := range rounds {
		if err := measure(round); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return nil
}
