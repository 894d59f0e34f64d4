// Package watchlist lets Reflectors recover from watch-lists that are never completed.
//
// A watch-list is a watch that begins with all objects. A bookmark with an annotation completes it: the watch has sent the
// objects, and continues with changes. Some servers of aggregated APIs, and some proxies before an API server, accept a watch-list and
// do not send this bookmark. client-go's Reflector waits for it forever.
//
// A [Guard] ends such a watch-list, and has the Reflector list instead, as it does if the API server rejects watch-lists:
//
//	ctx, attempt, err := guard.Begin(ctx, stalled)
//	if err != nil {
//		return nil, err // the Reflector lists
//	}
//	events, err := … // opens the watch
//	if err != nil {
//		attempt.End()
//		return nil, err
//	}
//	return watchlist.Follow(events, attempt.End, attempt.Observe), nil
//
// A watch-list can take any time while it makes progress. Once a list has succeeded where a watch-list was not completed,
// the [Memory] has the resource listed for some hours, and then tries a watch-list again.
package watchlist
