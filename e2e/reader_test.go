package e2e_test

import (
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// unnoticedRights bounds how long a change of permissions may go unnoticed. The API specifies ten
// seconds where roles cannot be watched; the rest is a margin for busy machines.
var unnoticedRights = harness.Patience(30 * time.Second)

// rbacAccount is an account that is granted permission to read a resource in several namespaces,
// and loses it again. It is owned by the test's goroutine.
type rbacAccount struct {
	account
	resource string
	rights   validate.Rights // all permissions that it has had
}

// grant grants permission to read a namespace.
func (r *rbacAccount) grant(namespace string) {
	r.t.Helper()
	hadRole := slices.ContainsFunc(r.rights, func(right validate.Right) bool { return right.Namespace == namespace })
	r.rights = append(r.rights, validate.Right{Namespace: namespace, From: time.Now()})
	if hadRole {
		bind(r.ctx, r.t, namespace, r.name, r.subject())
	} else {
		r.grantIn(namespace, r.name, rule(r.resource, "list", "watch"))
	}
}

// revoke revokes permission to read a namespace.
func (r *rbacAccount) revoke(namespace string) {
	r.t.Helper()
	r.revokeIn(namespace, r.name)
	for i := range r.rights {
		if right := &r.rights[i]; right.Namespace == namespace && right.Until.IsZero() {
			right.Until = time.Now()
		}
	}
}

// has reports whether the account has permission to read a namespace.
func (r *rbacAccount) has(namespace string) bool {
	return slices.ContainsFunc(r.rights, func(right validate.Right) bool {
		return right.Namespace == namespace && right.Until.IsZero()
	})
}

// evidence returns the evidence for streams of the account.
func (r *rbacAccount) evidence() validate.Evidence {
	return validate.Evidence{Rights: r.rights, Recheck: unnoticedRights}
}
