package coverage_test

// update replaces twins, and tries what is refused.
func (w *walk) update(twins [2]twin) {
	w.verb = "update"
	updates := making(func(of twin) call {
		asked := w.about("update", of)
		asked.body = merged(w.now(of).Object, w.change(of, step{"update", 2}))
		return asked
	})
	w.same("a changed one", succeeds, twins, updates)
	w.same("a malformed one", fails, twins, updates.with(malformed))
	w.same("an invalid one", either, twins, updates.with(w.invalid))
	w.same("an old one", fails, twins, updates.with(old))
	w.same("one that is not there", either, twins, updates.with(unknown))
	if w.row.namespaced {
		w.same("in another namespace", fails, twins, updates.with(elsewhere))
	}
}
