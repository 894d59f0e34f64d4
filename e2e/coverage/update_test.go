package coverage_test

// update replaces twins, and tries updates that must fail.
func (w *walk) update(twins [2]twin) {
	w.verb = "update"
	updates := making(func(twin twin) call {
		params := w.about("update", twin)
		params.body = merged(w.now(twin).Object, w.change(twin, step{"update", 2}))
		return params
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
