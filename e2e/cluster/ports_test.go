package main

import (
	"net"
	"os"
	"testing"
)

func TestPorts_AreDifferentAndInRange(t *testing.T) {
	p := choose(t, newDir(t))
	seen := map[int]bool{}
	for _, port := range []int{p.Etcd, p.APIServer, p.ControllerManager, p.Scheduler} {
		if port < lowestPort || port > highestPort || seen[port] {
			t.Errorf("port %d is out of range or assigned twice", port)
		}
		seen[port] = true
	}
}

func TestPorts_StayTheSameAfterARestart(t *testing.T) {
	dir := newDir(t)
	if first, second := choose(t, dir), choose(t, dir); first != second {
		t.Errorf("got %v, then %v", first, second)
	}
}

func TestPorts_OnlyUnavailablePortsAreReplaced(t *testing.T) {
	dir := newDir(t)
	first := choose(t, dir)
	taken, err := net.Listen("tcp", address(first.APIServer))
	if err != nil {
		t.Skip("another process took the port:", err)
	}
	defer taken.Close()
	second := choose(t, dir)
	if second.APIServer == first.APIServer {
		t.Error("the taken port was kept")
	}
	if second.Etcd != first.Etcd {
		t.Error("a free port was replaced")
	}
}

func TestPorts_InvalidFileIsRejected(t *testing.T) {
	dir := newDir(t)
	if err := os.WriteFile(dir.ports(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := choosePorts(dir.ports()); err == nil {
		t.Error("an invalid ports file was accepted")
	}
}

func choose(t *testing.T, dir layout) ports {
	t.Helper()
	p, err := choosePorts(dir.ports())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
