package clients_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonOperators_Converge runs the same operator with kubeconnect and with kopf, and shows that
// the cluster becomes what the Websites specify: after other clients have changed the same objects,
// and after changes while the operator does not run.
func TestPythonOperators_Converge(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*websites) program{
		"kubeconnect": func(w *websites) program {
			return w.startOperator(harness.StartService(w.t, kit.Cluster(w.t).Kubeconfig), "only")
		},
		"kopf": (*websites).startKopf,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWebsites(kit.DeadlineAfter(t, kit.FaultPatience), t)
			operator := start(w)
			w.createAll()
			w.converges("the sites are created")

			w.damage()
			w.converges("other clients have changed the owned objects")

			w.editAll(20)
			w.converges("the sites have changed many times")

			w.wantFinalizedOnce()
			w.createBriefly(10)
			w.recreate(siteName(3))
			w.converges("a site was deleted and created again")

			operator.stop()
			w.edit(siteName(0), 3)
			w.create("new", 1)
			w.deleteHeld(siteName(4))
			start(w)
			w.untilDeleted(siteName(4))
			w.converges("sites have changed while no operator runs")
		})
	}
}

// TestPythonOperator_ConvergesUnderFaults runs two replicas of the example operator, and shows that
// one of them works, and that the cluster becomes what the Websites specify after conflicts, and
// after the leader and the service were killed.
func TestPythonOperator_ConvergesUnderFaults(t *testing.T) {
	t.Parallel()
	w := newWebsites(kit.DeadlineAfter(t, 2*kit.FaultPatience), t)
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	replicas := map[string]program{
		"first":  w.startOperator(service, "first"),
		"second": w.startOperator(service, "second"),
	}
	w.createAll()
	w.converges("the sites are created")

	for !strings.Contains(replicas[w.leader()].Process.Output(), "failed: Conflict") {
		w.editAll(1)
	}
	w.converges("there was a conflict")

	leader := w.leader()
	for identity, replica := range replicas {
		if works := strings.Contains(replica.Process.Output(), "workers start"); works != (identity == leader) {
			t.Errorf("%s is the leader, and whether %s works is %t", leader, identity, works)
		}
	}
	replicas[leader].Process.Crash()
	delete(replicas, leader)
	w.edit(siteName(0), 2)
	w.converges("the leader is killed")
	if now := w.leader(); now == leader || now == "" {
		t.Errorf("the leader is %q, after %q was killed", now, leader)
	}

	w.editAll(1)
	service.Crash()
	w.edit(siteName(1), 3)
	w.create("new", 1)
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	w.converges("the service is killed")

	for _, replica := range replicas {
		replica.stop()
	}
	if now := w.leader(); now != "" {
		t.Errorf("the leader is %q after all operators have ended", now)
	}
}

// TestPythonOperator_AFrozenLeaderWritesNothing suspends the leader until another replica has taken
// over and has done the work. The leader then continues with states and changes that are outdated.
// It must not write any of them, and ends.
func TestPythonOperator_AFrozenLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWebsites(kit.DeadlineAfter(t, kit.FaultPatience), t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	first := w.startOperator(service, "first")
	w.createAll()
	w.converges("the first operator leads")
	second := w.startOperator(service, "second")

	if err := first.Process.Freeze(); err != nil {
		t.Fatal(err)
	}
	w.editAll(10)
	w.converges("the leader is frozen")
	if now := w.leader(); now != "second" {
		t.Errorf("the leader is %q, after the first one was frozen", now)
	}
	second.stop() // so that it cannot repair what the first one writes
	w.takeLease("nobody")
	before := w.versions()

	if err := first.Process.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Wait(w.ctx); err == nil || !strings.Contains(first.Process.Output(), "LeadershipLost") {
		t.Errorf("the frozen leader has ended with %v; output:\n%s", err, first.Process.Output())
	}
	if after := w.versions(); !maps.Equal(before, after) {
		t.Errorf("objects at versions\n  %v before, and\n  %v after the frozen leader continued; output:\n%s",
			before, after, first.Process.Output())
	}
}

// stop ends a program, and fails the test unless its exit code is 0.
func (p program) stop() {
	p.t.Helper()
	if err := p.Process.Stop(); err != nil {
		p.t.Errorf("%v; output:\n%s", err, p.Process.Output())
	}
}
