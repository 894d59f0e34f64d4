package coverage_test

// create creates twins, and tries creations that must fail.
func (w *walk) create() [2]twin {
	w.verb = "create"
	twins, creates := w.newTwins(), making(w.creation)
	for _, of := range twins {
		w.prepare(of)
	}
	w.same("a new object", succeeds, twins, creates)
	w.same("a malformed object", fails, twins, creates.with(malformed))
	if w.recipe.Answers {
		return twins
	}
	w.same("an existing object", fails, twins, creates)
	w.same("an invalid object", fails, w.newTwins(), creates.with(w.invalid))
	if w.row.namespaced {
		w.same("in a missing namespace", fails, twins, creates.with(elsewhere))
	}
	w.settle(twins)
	return twins
}

// creation returns the call that creates a twin, or that creates at a subresource of it.
func (w *walk) creation(of twin) call {
	asked := w.about("create", of)
	asked.body = w.object(of, nil)
	if w.row.subresource != "" {
		asked.body = of.in(w.recipe.Object)
	}
	return asked
}

// createPart creates at a subresource of twins.
func (w *walk) createPart(twins [2]twin) {
	w.verb = "create"
	creates := making(w.creation)
	w.same("one", succeeds, twins, creates)
	w.same("a malformed object", fails, twins, creates.with(malformed))
	w.same("of a missing object", fails, twins, creates.with(unknown))
}
