// Package auth says who is calling and what they may do, and makes the clients that act
// as them.
//
// There are two modes. [KubeconfigUser] lets every caller in and acts as the
// kubeconfig's user; it is for a developer's own machine, and [Loopback] keeps everyone
// else out. [Cluster] is for a service that others reach: it decides nothing itself, but
// asks the cluster, about callers by TokenReview and about rights by
// SubjectAccessReview ([Authorizer]). Client certificates alone it verifies itself,
// against the authorities that the API server publishes.
//
// What the service can rely on:
//
//   - Fails closed: nobody is let in, and nothing is allowed, unless the cluster has said
//     so. While it cannot be asked, calls fail with an error of the API server's kind,
//     ServiceUnavailable: it is not [ErrUnauthenticated], for it says nothing about the
//     caller. Such errors are not remembered.
//   - Bounded lateness: an answer is remembered for 10 seconds, a token's not past its
//     end. AuthorizerOptions.FollowedTTL lets answers about permissions hold for longer while RBAC is
//     followed without a gap of 10 seconds; but not those to nodes and about paths, nor those of the
//     minute after a change. ClusterOptions.FollowedTTL lets service account tokens hold for longer
//     while their service account, their pod and their issuer's key are seen to be there. Keys let
//     nobody in: the cluster is asked about every token at first. A change of RBAC that is seen by watching it makes the answers about those
//     whom it concerns void at once, and wakes who waits for [Authorizer.Changed].
//   - No answer from before a change outlives it: the API server's own authorizer follows
//     RBAC by watches too, and may see a change later than we do. For 5 seconds after
//     one, answers about those whom it concerns are remembered for half a second only,
//     and it is told again 1 and 5 seconds after. A look-up that was under way when a
//     change was seen answers nobody who asks after it.
//   - Exactly what the API server would ask: each question is asked as it is, and no answer
//     follows from another one. A permission for all namespaces or all names is none for a
//     single one: an authorizer that denies may stand before RBAC. The cluster is not told with
//     which credential, from which pod and from which node a user calls, unless
//     AuthorizerOptions.Extra names the keys, so that all pods of a service account share answers.
//   - Few questions: callers who ask the same at the same time are joined to one look-up;
//     and the namespaces that a caller may see are looked for where RBAC's bindings name it.
//     That is 3 reviews for permissions in 2 of 1,000 namespaces.
//   - Callers do not disturb each other: a look-up belongs to none of those who wait for
//     it, refusals are remembered apart from what was accepted, and a change wakes all
//     but costs a review only whom it concerns.
//   - Callers take turns: of the questions that the cluster is asked at one time, one caller
//     has a quarter at most, and the caller with the fewest is next. A question that has no
//     turn within 5 seconds, or more of its caller than may wait, fails with an error of the
//     API server's kind, TooManyRequests, which says when to call again. Questions about
//     streams that run ([Rechecking]) have turns of their own, and wait as long as the stream
//     does. The wait takes nothing from the 10 seconds that the cluster has for an answer.
//   - Made-up tokens hold up nobody who is known: look-ups of tokens that were accepted
//     when the cluster was asked last have turns of their own. The others take turns by
//     the address of the connection, or the first 64 bits of it for IPv6: one address has
//     half of the turns at most, and 160 tokens that are not accepted cost the API server
//     reviews each second. Who has no turn within 12 seconds, or has too many waiting, is
//     told when to call again likewise. A token that says itself that it has ended is refused
//     without a review.
//   - Client certificates cost little: a chain is verified once, however many calls come by it,
//     until the authorities change or a certificate ends. Of what comes with the caller's
//     certificate five intermediates are looked at, with keys of Ed25519, P-256, P-384 or RSA
//     up to 4,096 bits, and 32 KiB in all. Verifications take turns by address: one has half
//     of the processors at most, and 128 that wait. 4,096 accepted and as many refused chains
//     are remembered.
//   - Bounded: at most 64 look-ups of known callers and 64 of permissions at one time, as many
//     of each for running streams, and 32 of tokens that are not known, of 10 seconds each; for
//     each caller 1,024 questions that wait, and 4,096 about streams; 1,024 of unknown tokens that
//     wait for each address, and 2,048 in all, of which an address never has more than it leaves free; 16,384 accepted and 4,096 refused tokens, 16,384
//     that were accepted before, 32,768 permissions and as many denials, and the clients of 512
//     callers are remembered. The UIDs of all service accounts are kept, and those of all pods where
//     tokens are bound to them. What RBAC says is kept as names and rules, without the objects
//     that these came in.
//   - No credential shows: tokens are remembered by a keyed hash alone, and are in no
//     error, log or printed [Identity].
//
// [Cluster] and [Authorizer] have a Run, which owns all that they start: it returns when
// its context has ended and nothing runs any more. All types are safe for concurrent
// use.
package auth
