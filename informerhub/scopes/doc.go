// Package scopes decides in which namespaces the service lists and watches the resources of a cluster.
//
// A service that may list and watch a resource in all namespaces does so, by one request to the API server. One that may not is
// asked for less: it reads the resource in each of the namespaces in which it may. [Scopes] implements
// informerhub.Scopes:
//
//	decided := scopes.New(client, config.Host, scopes.Options{Own: "team-a"})
//	hub, err := informerhub.New(config, informerhub.Options{Scopes: decided})
//	go decided.Run(ctx)
//	go hub.FollowScopes(ctx)
//
// Guarantees:
//
//   - Only what the API server allows: a namespace is read if the API server has allowed both to list and to watch the
//     resource in it. It is asked by SelfSubjectAccessReview; for many namespaces by one SelfSubjectRulesReview for each,
//     where that is complete. A denial of an API server that is still starting is no decision (see package startup).
//   - Limited by the operator: with names, patterns or a label selector of namespaces, nothing is read in other namespaces,
//     also where the service may. Resources without namespaces are not limited.
//   - Followed: namespaces, their labels and permissions are looked at again every eight seconds; every 0.3 seconds for each
//     namespace if there are more than 26. This includes the permission for all namespaces, because an
//     open watch does not end when it is lost. A denial of the API server is followed up at once. [Scopes.Changed]
//     announces decisions that have changed.
//   - Kept: while the API server cannot be asked, the last decisions hold.
//
// An API server without these reviews, or one that does not allow them, allows everything as far as this package knows: its
// responses to the lists decide.
//
// scopes knows no callers: what these may read is decided by others.
package scopes
