package harness

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// auditPolicy records the patches of ConfigMaps of one name, and how those of another one
// are read, so that nothing else that a test does has to wait for the log.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  verbs: [patch]
  resources:
  - resources: [configmaps]
    resourceNames: [` + Audited + `]
- level: Metadata
  verbs: [get]
  resources:
  - resources: [configmaps]
    resourceNames: [` + AuditedReads + `]
- level: None
`

// Audited is the name of the ConfigMaps whose patches every cluster records.
const Audited = "audited"

// AuditedReads is the name of the ConfigMaps of which every cluster records who gets them.
const AuditedReads = "audited-reads"

// AuditEvent is what the API server has recorded of a request, as far as tests ask: a
// part of audit.k8s.io/v1's Event.
type AuditEvent struct {
	User             authenticationv1.UserInfo  `json:"user"`
	ImpersonatedUser *authenticationv1.UserInfo `json:"impersonatedUser"`
	ObjectRef        struct {
		Namespace string `json:"namespace"`
	} `json:"objectRef"`
	ResponseStatus metav1.Status `json:"responseStatus"`
	// ResponseObject is the object as it was written, or a Status.
	ResponseObject metav1.PartialObjectMetadata `json:"responseObject"`
}

// auditFlags are devcluster's, with what they name.
func auditFlags(dir string) ([]string, error) {
	policy := filepath.Join(dir, "audit-policy.yaml")
	flags := []string{"--apiserver-arg", "audit-policy-file=" + policy, "--apiserver-arg", "audit-log-path=" + auditLog(dir)}
	return flags, os.WriteFile(policy, []byte(auditPolicy), 0o600)
}

func auditLog(dir string) string { return filepath.Join(dir, "audit.log") }

// AuditEvents are those of a namespace that have been recorded up to now, in order. The
// API server records a request when it has answered it, so the last may be late.
func (c *Cluster) AuditEvents(namespace string) (events []AuditEvent, err error) {
	log, err := os.ReadFile(auditLog(c.dir))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(log) {
		var event AuditEvent
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		if event.ObjectRef.Namespace == namespace {
			events = append(events, event)
		}
	}
	return events, nil
}
