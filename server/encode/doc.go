// Package encode encodes objects, events and errors as the messages of kubeconnect.v1.
//
// [Bytes] encodes an object once for all responses that contain it. [AppendListed] appends an object
// to a page of a list. [Events] encodes a batch of a watcher as the messages of a stream, once for
// all streams that send the batch. A response receives encoded fields by [Set].
//
// No object can end a call. If an object has no form in the requested encoding that a client can
// receive, it is sent in another encoding; if it has none at all, an error is sent in the place of
// its content.
//
// The functions are safe for concurrent use. Encoded bytes are shared and must not be modified.
package encode
