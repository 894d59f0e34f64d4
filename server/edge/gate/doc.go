// Package gate admits calls before any of their messages is read. The [Entrance] bounds what clients use whose caller
// is not known yet. The [Gate] authenticates the caller of an RPC, applies its [Limits], and reserves memory for the
// request. The gate of health ([Health]) needs no caller. Whatever a call reserves is released when its handler has
// returned, or when its request is decoded.
//
//	entrance := gate.NewEntrance(timeout, log, usage, metrics)
//	admission := gate.New(entrance, gate.Config{Authenticator: authenticator, Callers: gate.NewCallers(limits), Limits: limits, Kept: kept})
//	server := connect.NewServer(admission.Admit)
//	handler := entrance.Handler(mux)
//
// [Callers] counts the calls and streams of each caller: a call over a limit fails with a callerrors.LimitError that
// says when to retry, after a wait of a few seconds where it can wait. [ChargeRequests] charges the callers of streams
// for the memory of their requests. An [Adjuster] changes the limits while the service runs.
//
// The package imports bounds, call, callerrors, memorylimit and observe, and does not know how errors are sent.
package gate
