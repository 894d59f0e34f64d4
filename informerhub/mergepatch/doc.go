// Package mergepatch says in a JSON merge patch (RFC 7386) what leads from one state of
// an object to the next, as bytes.
package mergepatch
