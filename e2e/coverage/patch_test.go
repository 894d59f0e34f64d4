package coverage_test

import "k8s.io/apimachinery/pkg/types"

// patch changes twins with patches of each type, and tries patches that must fail.
func (w *walk) patch(twins [2]twin) {
	w.verb = "patch"
	w.patchByJSON(twins)
	w.merge(twins)
	w.same("strategic merge patch", w.strategic(), twins, w.patching(types.StrategicMergePatchType, func(twin twin) any {
		return w.change(twin, step{"strategic", 7})
	}))
	w.apply(twins)
}

// patching returns a call with a patch.
func (w *walk) patching(as types.PatchType, patch func(twin) any) making {
	return func(twin twin) call {
		params := w.about("patch", twin)
		params.patchType, params.patch = as, text(patch(twin))
		return params
	}
}

func (w *walk) patchByJSON(twins [2]twin) {
	w.same("JSON patch", succeeds, twins, w.patching(types.JSONPatchType, func(twin twin) any {
		return operations(w.now(twin).Object, w.change(twin, step{"json", 3}))
	}))
	w.same("JSON patch whose test fails", fails, twins, w.patching(types.JSONPatchType, func(twin) any {
		return []any{operation("test", "/metadata/name", nobody)}
	}))
}

func (w *walk) merge(twins [2]twin) {
	merges := func(change func(*call)) making {
		return func(twin twin) call {
			params := w.about("patch", twin)
			params.patchType, params.body = types.MergePatchType, w.change(twin, step{"merge", 4})
			change(&params)
			params.patch = text(params.body)
			return params
		}
	}
	w.same("merge patch", succeeds, twins, merges(func(*call) {}))
	w.same("malformed merge patch", fails, twins, merges(malformed))
	w.same("invalid merge patch", either, twins, merges(w.invalid))
	w.same("merge patch of an old version", fails, twins, merges(old))
	w.same("merge patch of a missing object", either, twins, merges(unknown))
	if w.row.namespaced {
		w.same("merge patch in another namespace", either, twins, merges(elsewhere))
	}
}

// strategic returns the expected result of strategic merge patches: custom resources do not support
// them.
func (w *walk) strategic() expectation {
	if w.custom() {
		return fails
	}
	return succeeds
}

func (w *walk) custom() bool { return w.row.apiResource.Group == "coverage.example.com" }

// apply applies configurations, with force and in conflict with another manager.
func (w *walk) apply(twins [2]twin) {
	applies := func(step step, manager string, force bool) making {
		return w.patching(types.ApplyYAMLPatchType, func(twin twin) any {
			return w.applied(twin, w.change(twin, step))
		}).with(func(params *call) { params.manager, params.force = manager, force })
	}
	w.same("apply", w.applies(), twins, applies(step{"apply", 8}, "applier", true))
	conflict := fails
	if w.recipe.Once {
		conflict = either // the second change is the same
	}
	w.same("apply in conflict", conflict, twins, applies(step{"conflict", 9}, "another", false))
}

// applies returns the expected result of apply configurations: the API server does not support them
// for the scale of a custom resource.
func (w *walk) applies() expectation {
	if w.custom() && w.row.subresource == "scale" {
		return fails
	}
	return succeeds
}
