package coverage_test

// create makes twins, and tries what is refused.
func (w *walk) create() [2]twin {
	w.verb = "create"
	twins, creates := w.newTwins(), making(w.creation)
	for _, of := range twins {
		w.prepare(of)
	}
	w.same("a new one", succeeds, twins, creates)
	w.same("a malformed one", fails, twins, creates.with(malformed))
	if w.recipe.Answers {
		return twins
	}
	w.same("one that is there", fails, twins, creates)
	w.same("an invalid one", fails, w.newTwins(), creates.with(w.invalid))
	if w.row.namespaced {
		w.same("in a namespace that is not there", fails, twins, creates.with(elsewhere))
	}
	w.settle(twins)
	return twins
}

// creation is the call that makes a twin, or what a subresource of it makes.
func (w *walk) creation(of twin) call {
	asked := w.about("create", of)
	asked.body = w.object(of, nil)
	if w.row.subresource != "" {
		asked.body = of.in(w.recipe.Object)
	}
	return asked
}

// createPart makes what a subresource of twins is there to make.
func (w *walk) createPart(twins [2]twin) {
	w.verb = "create"
	creates := making(w.creation)
	w.same("one", succeeds, twins, creates)
	w.same("a malformed one", fails, twins, creates.with(malformed))
	w.same("of what is not there", fails, twins, creates.with(unknown))
}
