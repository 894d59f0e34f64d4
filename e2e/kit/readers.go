package kit

import (
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// UnnoticedPermissions bounds how long a change of permissions may go unnoticed. The API specifies ten
// seconds where roles cannot be watched; the rest is a margin for busy machines.
var UnnoticedPermissions = harness.Patience(30 * time.Second)

// RbacAccount is an account that is granted permission to read a resource in several namespaces,
// and loses it again. It is owned by the test's goroutine.
type RbacAccount struct {
	Account
	Resource string
	Clients  []record.Client // of its followers in a [TrafficGroup]
	Rights   validate.Rights // all permissions that it has had
}

// Grant grants permission to read a namespace.
func (r *RbacAccount) Grant(namespace string) {
	r.T.Helper()
	hadRole := slices.ContainsFunc(r.Rights, func(right validate.Right) bool { return right.Namespace == namespace })
	r.Rights = append(r.Rights, validate.Right{Namespace: namespace, From: time.Now()})
	if hadRole {
		Bind(r.Ctx, r.T, namespace, r.Name, r.Subject())
	} else {
		r.GrantIn(namespace, r.Name, Rule(r.Resource, "get", "list", "watch"), Rule("services", "get"))
	}
}

// Revoke revokes permission to read a namespace.
func (r *RbacAccount) Revoke(namespace string) {
	r.T.Helper()
	r.RevokeIn(namespace, r.Name)
	for i := range r.Rights {
		if right := &r.Rights[i]; right.Namespace == namespace && right.Until.IsZero() {
			right.Until = time.Now()
		}
	}
}

// Has reports whether the account has permission to read a namespace.
func (r *RbacAccount) Has(namespace string) bool {
	return slices.ContainsFunc(r.Rights, func(right validate.Right) bool {
		return right.Namespace == namespace && right.Until.IsZero()
	})
}

// Evidence returns the evidence for streams of the account.
func (r *RbacAccount) Evidence() validate.Evidence {
	return validate.Evidence{Rights: r.Rights, Recheck: UnnoticedPermissions}
}
