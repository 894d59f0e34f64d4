package preflight

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Outcome is the outcome of a check.
type Outcome string

// The outcomes of a check.
const (
	OK      Outcome = "ok"
	Warning Outcome = "warning" // a part of the service is slower or missing, which may be intended
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped" // another check must succeed first
)

// Result is the result of one check.
type Result struct {
	// Check is the name of the check, a few words.
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Found is what was found, without a period.
	Found string `json:"found"`
	// Consequence is what does not work because of it, in sentences; empty if everything does.
	Consequence string `json:"consequence,omitempty"`
	// Remedy is what to do about it, in sentences. It is empty if the permissions below are the remedy.
	Remedy string `json:"remedy,omitempty"`
	// User is the user whose credential the service has, if the check has found it.
	User string `json:"user,omitempty"`
	// Missing are the permissions that the service's account lacks.
	Missing *Permissions `json:"missing,omitempty"`
	// Grant is the command that grants Missing.
	Grant string `json:"grant,omitempty"`
}

// Permissions are permissions of RBAC.
type Permissions struct {
	// Rules are those of a ClusterRole.
	Rules []rbacv1.PolicyRule `json:"rules,omitempty"`
	// ClientAuthorities is the permission to read the authorities of client certificates, which a role of
	// every cluster has.
	ClientAuthorities bool `json:"clientAuthorities,omitempty"`
	// Powerful reports whether they make the account about as powerful as an administrator.
	Powerful bool `json:"powerful,omitempty"`
}

// worse returns a result that is not ok.
func worse(outcome Outcome, check, found, consequence, remedy string) Result {
	return Result{Check: check, Outcome: outcome, Found: found, Consequence: consequence, Remedy: remedy}
}

func ok(check, found string) Result { return Result{Check: check, Outcome: OK, Found: found} }

// User returns the user that the results are about.
func User(results []Result) string {
	for _, result := range results {
		if result.User != "" {
			return result.User
		}
	}
	return ""
}
