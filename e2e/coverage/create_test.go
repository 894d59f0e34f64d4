package coverage_test

// create creates twins, and tries creations that must fail.
func (w *walk) create() [2]twin {
	w.verb = "create"
	twins, creates := w.newTwins(), making(w.creation)
	for _, twin := range twins {
		w.prepare(twin)
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
func (w *walk) creation(twin twin) call {
	params := w.about("create", twin)
	params.body = w.object(twin, nil)
	if w.row.subresource != "" {
		params.body = twin.substitute(w.recipe.Object)
	}
	return params
}

// createPart creates at a subresource of twins.
func (w *walk) createPart(twins [2]twin) {
	w.verb = "create"
	creates := making(w.creation)
	w.same("one", succeeds, twins, creates)
	w.same("a malformed object", fails, twins, creates.with(malformed))
	w.same("of a missing object", fails, twins, creates.with(unknown))
}
