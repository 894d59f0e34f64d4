// Package target finds what requests name: the resource, and the objects that its scope allows.
//
// [OnResource] calls a function with the resource that a request names in kubectl's syntax. If the API server then
// contradicts discovery, as after a CRD was created, replaced or deleted, discovery is refreshed and the function is called
// once more. The checks reject names and namespaces that the API server would read as something else; each error names the
// field and the correction.
//
// target must not import auth: whether a caller can read or change what it names is decided by others.
package target
