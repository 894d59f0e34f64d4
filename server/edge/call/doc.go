// Package call is about one call, from its headers until its handler has returned: who calls, when the request
// has been received, what the response may take, and what is logged, counted and traced about the call.
//
// A [Call] is created for each HTTP request, and is in the context of its handler. The goroutine of the handler
// owns it. [Call.OnEnd] registers what is to be released at the end. The [Record] of the call is what is known
// about it; packages gate and observe complete it and read it.
//
// Handlers do not see the Call. They learn the caller, and note what the call is about:
//
//	identity := call.IdentityFrom(ctx)
//	call.NoteResource(ctx, request.GetResource(), resource.String())
//	call.NoteObjects(ctx, len(objects))
//
// With an audit log, a call also has a [Trail]: each resource that it reads, with what was decided about the permission.
// Package access notes that, for every handler. A part of a stream has a trail of its own.
//
// [CallerKey] and [CredentialKey] are the keys by which limits, budgets and shared work distinguish callers. Every
// function that takes a context can be called outside of a call, as tests do, except CallerFrom and IdentityFrom.
//
// The package imports callerrors only: it knows neither limits nor metrics, which are passed as counters.
package call
