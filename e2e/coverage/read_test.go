package coverage_test

// get reads a twin, and an object that does not exist.
func (w *walk) get(twins [2]twin) {
	w.verb = "get"
	for name, encoding := range encodings {
		params := w.about("get", twins[0])
		params.encoding, params.since = encoding, w.version(twins[0])
		w.sameRead("as "+name, succeeds, params)
	}
	params := w.about("get", twins[0])
	params.encoding, params.consistency = inJSON, latest
	w.sameRead("the latest", succeeds, params)
	gets := making(func(twin twin) call { return w.about("get", twin) })
	w.sameRead("an unknown name", fails, gets.with(unknown)(twins[0]))
	if w.row.namespaced {
		w.sameRead("in another namespace", fails, gets.with(elsewhere)(twins[0]))
	}
}

// version returns the resource version of a twin, for which a cached read waits.
func (w *walk) version(twin twin) string {
	if w.row.subresource != "" || !w.row.has("watch") {
		return ""
	}
	return w.now(twin).GetResourceVersion()
}

// list reads the twins by the label of their row.
func (w *walk) list(twins [2]twin) {
	w.verb = "list"
	for name, encoding := range encodings {
		params := w.selecting("list", w.selector(), "")
		params.encoding, params.since = encoding, w.version(twins[1]) // the version of the first has been reached by get
		w.sameRead("the objects of the row as "+name, succeeds, params)
	}
	params := w.selecting("list", w.selector(), "")
	params.consistency = latest
	w.sameRead("the latest of the row", succeeds, params)
	everywhere := w.selecting("list", w.selector(), "")
	everywhere.namespace = ""
	w.sameRead("in all namespaces", succeeds, everywhere)
	w.sameRead("an invalid label selector", fails, w.selecting("list", "a in", ""))
	w.sameRead("an invalid field selector", w.fieldsFail(), w.selecting("list", "", "nonsense=1"))
}

// fieldsFail returns the expected result of field selectors: resources that are not stored do not
// support them.
func (w *walk) fieldsFail() expectation {
	if !w.row.has("watch") {
		return either
	}
	return fails
}

// selector returns the label selector for the objects of the row.
func (w *walk) selector() string { return rowLabel + "=" + w.row.label }

func (w *walk) selecting(verb, labels, fields string) call {
	return call{verb: verb, row: w.row, namespace: w.namespace, labels: labels, fields: fields, encoding: inJSON}
}
