package informerhub

import "testing"

func TestCache_RevisionDiffersAfterEveryChange(t *testing.T) {
	renamed := func(t *testing.T) *Object {
		return podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "3", Node: "other"})
	}
	for name, change := range map[string]func(*testing.T, *Cache) error{
		"a creation": func(t *testing.T, c *Cache) error { return c.Add(pod(t, "c", 11)) },
		"an update":  func(t *testing.T, c *Cache) error { return c.Update(pod(t, "a", 11)) },
		"a deletion": func(t *testing.T, c *Cache) error { return c.Delete(pod(t, "b", 11)) },
		"a bookmark": func(_ *testing.T, c *Cache) error { return c.Bookmark("11") },
		"a recreation": func(t *testing.T, c *Cache) error {
			return c.Update(podObject(t, traits{Namespace: "default", Name: "a", UID: "other", Version: "11"}))
		},
		"a relist that finds a deletion": func(t *testing.T, c *Cache) error {
			return c.Replace(items(pod(t, "a", 3)), "11")
		},
		"a relist that finds a deletion at the same version": func(t *testing.T, c *Cache) error {
			return c.Replace(items(pod(t, "a", 3)), "10")
		},
		"a relist that finds another content at the same version": func(t *testing.T, c *Cache) error {
			return c.Replace(items(renamed(t), pod(t, "b", 4)), "10")
		},
		"an older list, of a restored backup":     func(t *testing.T, c *Cache) error { return c.Replace(items(pod(t, "a", 3)), "5") },
		"a history without objects that restarts": func(_ *testing.T, c *Cache) error { return c.Replace(nil, "5") },
	} {
		t.Run(name, func(t *testing.T) {
			c := syncedPods(t, 10, pod(t, "a", 3), pod(t, "b", 4))
			before := c.Revision()
			if c.Revision() != before {
				t.Fatal("two revisions of one state differ")
			}
			must(t, change(t, c))
			if c.Revision() == before {
				t.Errorf("the revision is still %v", before)
			}
		})
	}
}

func TestCache_RevisionDiffersAfterASecondDeletionAtOneVersion(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3), pod(t, "b", 4))
	must(t, c.Delete(pod(t, "a", 11)))
	before := c.Revision()
	must(t, c.Delete(pod(t, "b", 11)))
	if c.Revision() == before {
		t.Errorf("the revision is still %v", before)
	}
}

func TestCache_RevisionDiffersBetweenCachesOfTheSameObjects(t *testing.T) {
	one, other := syncedPods(t, 10, pod(t, "a", 3)), syncedPods(t, 10, pod(t, "a", 3))
	if one.Revision() == other.Revision() {
		t.Errorf("both are %v", one.Revision())
	}
}
