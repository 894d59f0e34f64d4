package coverage_test

// delete deletes twins, and tries what is refused.
func (w *walk) delete(twins [2]twin) {
	w.verb = "delete"
	deletes := making(func(of twin) call { return w.about("delete", of) })
	w.same("of another UID", fails, twins, deletes.with(func(asked *call) { asked.uid = "00000000-0000-0000-0000-000000000000" }))
	if w.row.namespaced {
		w.same("in another namespace", fails, twins, deletes.with(elsewhere))
	}
	w.same("one", succeeds, twins, deletes)
	w.same("one that is not there", fails, twins, deletes.with(unknown))
}

// deleteCollection deletes by a label that only these twins have.
func (w *walk) deleteCollection() {
	w.verb = "deletecollection"
	twins := w.newTwins()
	for _, of := range twins {
		pile := of.text("$(name)")
		w.makeTwin(of, map[string]any{"pile": pile})
		w.makeTwin(w.newTwin(), map[string]any{"pile": pile})
	}
	w.same("two", succeeds, twins, func(of twin) call {
		return w.selecting("deletecollection", of.text("pile=$(name)"), "")
	})
	w.same("none", succeeds, twins, func(of twin) call {
		return w.selecting("deletecollection", "pile=none", "")
	})
	w.same("a label selector of no sense", fails, twins, func(twin) call { return w.selecting("deletecollection", "a in", "") })
	w.same("a field selector of no sense", fails, twins, func(twin) call {
		return w.selecting("deletecollection", "pile=none", "nonsense=1")
	})
}
