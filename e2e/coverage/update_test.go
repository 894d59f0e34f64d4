package coverage_test

// update replaces twins, and tries updates that must fail.
func (w *walk) update(twins [2]twin) {
	w.verb = "update"
	updates := making(func(of twin) call {
		asked := w.about("update", of)
		asked.body = merged(w.now(of).Object, w.change(of, step{"update", 2}))
		return asked
	})
	w.same("a changed object", succeeds, twins, updates)
	w.same("a malformed object", fails, twins, updates.with(malformed))
	w.same("an invalid object", either, twins, updates.with(w.invalid))
	w.same("an old version", fails, twins, updates.with(old))
	w.same("a missing object", either, twins, updates.with(unknown))
	if w.row.namespaced {
		w.same("in another namespace", fails, twins, updates.with(elsewhere))
	}
}
