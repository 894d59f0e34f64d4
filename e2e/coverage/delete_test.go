package coverage_test

// delete deletes twins, and tries deletions that must fail.
func (w *walk) delete(twins [2]twin) {
	w.verb = "delete"
	deletes := making(func(twin twin) call { return w.about("delete", twin) })
	w.same("of another UID", fails, twins, deletes.with(func(params *call) { params.uid = "00000000-0000-0000-0000-000000000000" }))
	if w.row.namespaced {
		w.same("in another namespace", fails, twins, deletes.with(elsewhere))
	}
	w.same("one", succeeds, twins, deletes)
	w.same("a missing object", fails, twins, deletes.with(unknown))
}

// deleteCollection deletes by a label that only these twins have.
func (w *walk) deleteCollection() {
	w.verb = "deletecollection"
	twins := w.newTwins()
	for _, twin := range twins {
		pile := twin.text("$(name)")
		w.makeTwin(twin, map[string]any{"pile": pile})
		w.makeTwin(w.newTwin(), map[string]any{"pile": pile})
	}
	w.same("two", succeeds, twins, func(twin twin) call {
		return w.selecting("deletecollection", twin.text("pile=$(name)"), "")
	})
	w.same("none", succeeds, twins, func(twin twin) call {
		return w.selecting("deletecollection", "pile=none", "")
	})
	w.same("an invalid label selector", fails, twins, func(twin) call { return w.selecting("deletecollection", "a in", "") })
	w.same("an invalid field selector", fails, twins, func(twin) call {
		return w.selecting("deletecollection", "pile=none", "nonsense=1")
	})
}
