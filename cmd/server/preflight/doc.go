// Package preflight tries what the service needs from its cluster, without serving: the connection, the
// clock, the credential, each permission, the resources, and the addresses that the settings name.
//
// [Run] makes only reads and reviews; it changes nothing. Each check has one [Result], whose texts say
// what is wrong, what does not work without it, and what to do. A missing permission comes with the
// rules of RBAC that grant it, and [Grant] makes a command of them.
//
// A check fails if the service does not serve what its settings ask for. It warns if a part is slower
// or missing, or might be intended.
package preflight
