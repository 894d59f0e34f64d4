// Package writes implements the RPCs that change objects: Create, Update, Patch, Delete and DeleteCollection.
//
// A request is parsed into a change of package change, which sends it to the API server as the caller. A change is never
// retried after it may have been made. Its response is sent even if there is no memory left for it, because the change was made.
//
// Requests are rejected here only where the API server would do something else than the caller expects, or would report an
// error that the caller cannot understand. Everything else is for the API server to decide, and its errors are returned.
package writes
