// Package auth authenticates and authorizes callers, and creates the clients that act as them.
//
// There are two modes. [KubeconfigAuthenticator] accepts every caller and acts as the kubeconfig's
// user. It is for a developer's own machine, and [LoopbackOnly] rejects all other clients.
// [ClusterAuthenticator] is for a service that others can reach. It decides nothing itself: the
// cluster authenticates callers by TokenReview, and authorizes them by SubjectAccessReview
// ([Authorizer]). Only client certificates are verified by this package, against the authorities
// that the API server publishes.
//
// Guarantees:
//
//   - Fails closed: no caller is accepted, and nothing is allowed, without a decision of the
//     cluster. While the API server is unreachable, calls fail with an error of the API server's
//     type, ServiceUnavailable. It is not [ErrUnauthenticated], because it does not concern the
//     caller. Such errors are not cached. A review without permission and with an evaluation error is
//     no denial, but such an error: an authorizer has failed, and the API server itself would respond
//     with an internal error.
//   - Bounded delay: a decision is cached for 10 seconds, and a token's not beyond its expiration.
//     With AuthorizerOptions.FollowedTTL, permission decisions are cached for longer while RBAC is
//     followed without a gap of 10 seconds; except those for nodes and about paths, those with an
//     evaluation error, and those of the minute after a change. With
//     ClusterAuthenticatorOptions.FollowedTTL, reviews of service account tokens are cached for
//     longer while their service account, their pod and their issuer's key are seen to exist.
//     Nothing counts as followed while the API server is at an older version than its watch, as
//     after a restore of etcd. Keys admit no caller: each token is first reviewed by the API
//     server. A change of RBAC that is seen by the watch invalidates the cached decisions of the
//     affected subjects at once, and wakes the waiters on [Authorizer.Changed].
//   - No decision from before a change outlives it: the API server's own authorizer follows RBAC
//     by watches too, and can see a change later than this package. For 5 seconds after a change,
//     decisions about the affected subjects are cached for only half a second, and the change is
//     announced again 1 and 5 seconds after it. A review that was in progress when a change was
//     seen is not used for later requests.
//   - Exactly what the API server would ask: each permission is reviewed as it is, and no decision
//     follows from another one. A permission for all namespaces or all names does not imply one
//     for a single namespace or name, because an authorizer that denies can precede RBAC. Reviews
//     do not contain the credential, the pod and the node that a user calls from, unless
//     AuthorizerOptions.Extra names the keys. Therefore all pods of a service account share
//     decisions.
//   - Few reviews: concurrent callers with the same question share one review, and the
//     namespaces that a caller can read are searched for only where a binding of RBAC names the
//     caller. Permissions in 2 of 1,000 namespaces cost 3 reviews.
//   - An API server that gives no decisions is asked at a bounded rate, whatever the number of
//     callers: after 5 failed reviews of one kind in a row, or 10 seconds in which all have failed,
//     one at a time is sent as a probe, with an exponential, random pause of up to 6 seconds between
//     them. Meanwhile reviews of new calls fail at once with the time to call again, and those of
//     open streams wait. [ReviewStats] has the reason, and whether the API server can be reached.
//     Timeouts at an API server that can be reached have that effect only on their own caller, until
//     reviews of 3 callers have timed out since the last response to another caller: an authorizer may
//     not respond for some callers only. Evaluation errors do not have that effect at all. After
//     the first decision, 100 reviews a second pass, and twice as many after each 5 seconds, until
//     fewer are requested. With AuthorizerOptions.Grace and ClusterAuthenticatorOptions.Grace, the
//     last decision counts for longer meanwhile, unless a change of RBAC that affects the caller, or
//     a deleted service account or pod, was seen.
//   - Isolation of callers: a review belongs to none of the callers that wait for it, rejected
//     credentials are cached separately from accepted ones, and a change wakes all waiters but
//     causes reviews only for the affected callers.
//   - Fair shares: of the concurrent reviews, one caller has at most a quarter, and the caller
//     with the fewest is next. A review that gets no slot within 5 seconds, or exceeds the queue of
//     its caller, fails with an error of the API server's type, TooManyRequests, which contains
//     the time to call again. Reviews of open streams ([WithRecheck]) have slots of their own, and
//     wait as long as the stream does. The wait does not count against the 10 seconds that the
//     cluster has for a decision.
//   - Floods of invalid tokens do not delay known callers: reviews of tokens that were accepted
//     in their last review have slots of their own. The slots for the others are shared by the
//     address of the connection, or its first 64 bits for IPv6: one address has at most half of
//     the slots, and causes at most 160 reviews of rejected tokens each second. A caller that gets
//     no slot within 12 seconds, or whose address has too many waiting, also gets the time to call
//     again. A token that is expired according to its own claims is rejected without a review.
//   - Client certificates are cheap: a chain is verified once, independent of the number of its
//     calls, until the authorities change or a certificate expires. In addition to the caller's
//     certificate, five intermediates are examined, with keys of Ed25519, P-256, P-384 or RSA up to
//     4,096 bits, and 32 KiB in total. Verifications are shared fairly by address: one address has
//     at most half of the processors, and 128 waiting verifications. 4,096 accepted and as many
//     rejected chains are cached.
//   - Bounded: at most 64 concurrent reviews of known tokens and 64 of permissions, as many of each
//     for open streams, and 32 of unknown tokens, of at most 10 seconds each; for each caller
//     1,024 waiting reviews, and 4,096 for open streams; 1,024 waiting reviews of unknown tokens
//     for each address, and 2,048 in total, of which an address never has more than remain free.
//     The caches hold 16,384 accepted and 4,096 rejected tokens, 16,384 tokens that were
//     accepted before, 32,768 allowed and as many denied permissions, and the clients of 512
//     callers. The UIDs of all service accounts are kept, and those of all pods if tokens are bound
//     to pods. RBAC is kept as names and rules, without the objects.
//   - Credentials are not revealed: tokens are cached only by a keyed hash, and are in no error,
//     log or printed [Identity].
//
// [ClusterAuthenticator] and [Authorizer] have a Run method, which owns all goroutines that they
// start. It returns when its context is done and these goroutines have ended. All types are safe
// for concurrent use.
package auth
