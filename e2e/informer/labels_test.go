package informer_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestInformers_ReportObjectsThatEnterAndLeaveASelection(t *testing.T) {
	t.Parallel()
	s := newStage(t, kit.Cluster(t))
	web, other := kit.Labels{"app": "web"}, map[string]any{"app": "other"}
	selected := map[string]any{"app": "web"}
	each(stays, func(name string) { s.Create(name, web) })
	each(gone, func(name string) { s.Create(name, web) })
	each(created, func(name string) { s.Create(name, kit.Labels{"app": "other"}) })
	s.follow(implementations, settings{LabelSelector: "app=web"})

	leaveAndEnter := func() {
		each(gone, func(name string) { s.Relabel(name, other) })
		each(created, func(name string) { s.Relabel(name, selected) })
	}
	returnAll := func() {
		each(gone, func(name string) { s.Relabel(name, selected) })
		each(created, func(name string) { s.Relabel(name, other) })
	}
	for _, while := range []func(change func()){func(change func()) { change() }, s.outage} {
		s.mark()
		while(leaveAndEnter)
		s.settle()
		s.wantChanges(enteringAndLeaving, callsFor(gone, "delete"))
		s.wantChanges(enteringAndLeaving, callsFor(created, "add"))

		s.mark()
		while(returnAll)
		each(created, func(name string) { s.Touch(name, "outside of the selection") })
		s.settle()
		s.wantChanges(enteringAndLeaving, callsFor(gone, "add"))
		s.wantChanges(enteringAndLeaving, callsFor(created, "delete"))
		s.wantChanges(enteringAndLeaving, callsFor(stays))
	}
	s.wantConsistentCalls()
}
