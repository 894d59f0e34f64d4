// Package conditional gives the response of a read by GET a tag, and responds with 304 to a client that has the
// response: never for another caller, and never before the caller's permissions are checked. [Reads] is the
// interceptor.
//
// A handler that knows what its response depends on calls [Unchanged] before it reads the cache, so that a response
// which has not changed is not computed:
//
//	err := conditional.Unchanged(ctx, func() (state string, ok bool) { return cache.Revision(), true })
//
// The package imports call only.
package conditional
