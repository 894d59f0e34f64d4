package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
	"github.com/kubeconnect/kubeconnect/server/edge/audit"
)

// auditing is the audit log of the service. The methods of a nil auditing, without an audit log, do nothing.
type auditing struct {
	log    *audit.Log
	output *audit.Output
}

// newAuditing returns the audit log that the settings select; nil if they select none. The caller must open it.
func newAuditing(s config.Settings) (*auditing, error) {
	if s.AuditLog == "" {
		return nil, nil
	}
	policy, err := auditPolicy(s)
	if err != nil {
		return nil, err
	}
	output := audit.NewOutput(s.AuditLog)
	return &auditing{audit.NewLog(policy, output), output}, nil
}

// auditPolicy returns the policy of --audit-policy, or the default one.
func auditPolicy(s config.Settings) (audit.Policy, error) {
	if s.AuditPolicy == "" {
		return audit.DefaultPolicy(), nil
	}
	policy, err := audit.ReadPolicy(s.AuditPolicy)
	if err != nil {
		return audit.Policy{}, fmt.Errorf("--audit-policy: %w", err)
	}
	return policy, nil
}

// calls returns the log of calls; nil if there is none.
func (a *auditing) calls() *audit.Log {
	if a == nil {
		return nil
	}
	return a.log
}

// open begins to write. The caller must close the audit log.
func (a *auditing) open() error {
	if a == nil {
		return nil
	}
	if err := a.output.Open(); err != nil {
		return fmt.Errorf("--audit-log: %w", err)
	}
	return nil
}

// close writes the last events.
func (a *auditing) close() {
	if a != nil {
		a.output.Close()
	}
}

func (a *auditing) collectors() []prometheus.Collector {
	if a == nil {
		return nil
	}
	return []prometheus.Collector{a.output}
}

// checkAudit checks the policy of the audit log, if there is one.
func checkAudit(s config.Settings) (results []preflight.Result) {
	const check = "audit log"
	if s.AuditLog == "" {
		return nil
	}
	if _, err := auditPolicy(s); err != nil {
		return []preflight.Result{failed(check, err.Error(), "The service does not start.",
			"Correct the file: a Policy of audit.k8s.io/v1, with the levels None and Metadata.")}
	}
	found := s.AuditLog + ", all calls but those of health"
	if s.AuditPolicy != "" {
		found = s.AuditLog + ", by the rules of " + s.AuditPolicy
	}
	return []preflight.Result{{Check: check, Outcome: preflight.OK, Found: found}}
}
