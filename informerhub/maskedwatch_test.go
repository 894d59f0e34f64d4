package informerhub

import (
	"context"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

func fieldsOf(t testing.TB, paths ...string) *mask.Mask {
	t.Helper()
	fields, err := mask.Parse(paths)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestWatcher_SendsNoChangesOutsideItsMask(t *testing.T) {
	c := podCache(1 << 20)
	at := func(version, node, app string) *Object {
		return podObject(t, traits{Namespace: "default", Name: "a", UID: "u", Version: version, Labels: map[string]string{"app": app}, Node: node})
	}
	must(t, c.Replace(items(at("1", "node-1", "web")), "1"))
	r := newReader(t, c, Query{Fields: fieldsOf(t, "spec.nodeName"), LabelSelector: "app!=gone"})
	r.drain(t)
	must(t, c.Update(at("2", "node-1", "db")))
	must(t, c.Update(at("3", "node-2", "db")))
	must(t, c.Update(at("4", "node-2", "gone")))
	must(t, c.Update(at("5", "node-2", "web")))
	must(t, c.Update(at("6", "node-2", "db")))
	checkSame(t, []string{
		"MODIFIED default/a@3 at 3", "DELETED default/a@3 at 4", "ADDED default/a@5 at 5",
	}, r.drain(t))
	if r.behind.Version != "6" {
		t.Errorf("the position is %s", r.behind.Version)
	}
	checkSame(t, []string{`default/a u {"spec":{"nodeName":"node-2"}}`}, r.holds())
}

func TestSelection_KeyDependsOnTheMask(t *testing.T) {
	c := podCache(1 << 20)
	keys := make(map[SelectionKey]bool)
	for _, paths := range [][]string{nil, {"spec"}, {"metadata"}, {"spec", "metadata"}, {"metadata", "spec"}} {
		sel, err := c.Select(context.Background(), Query{Fields: fieldsOf(t, paths...)})
		must(t, err)
		keys[sel.Key()] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d selections have different keys, want 4", len(keys))
	}
}
